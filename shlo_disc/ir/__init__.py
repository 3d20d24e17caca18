"""How programs are connected: types, attributes, values, ops, regions, modules."""
