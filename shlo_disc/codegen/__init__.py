"""Groups of ops become kernels (rows x stages and templates) and a host program; nothing here knows a target."""
