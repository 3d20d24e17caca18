"""C++ headers that the preludes of both targets include: functions, their coefficients, sizes."""
