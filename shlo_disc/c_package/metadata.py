"""What build systems read: the files of pkg-config and of CMake."""

from __future__ import annotations

from string import Template

_PKG_CONFIG = Template("""\
prefix=$${pcfiledir}

Name: $name
Description: A compiled StableHLO program
Version: 1
Libs: -L$${prefix} -l$name
Libs.private: -lm -lpthread
Cflags: -I$${prefix}
""")

_CMAKE = Template("""\
# find_package($name REQUIRED PATHS this-folder), then target_link_libraries(... $name::$name), or $name::static.
if(NOT TARGET $name::$name)
  add_library($name::$name SHARED IMPORTED)
  set_target_properties($name::$name PROPERTIES
    IMPORTED_LOCATION "$${CMAKE_CURRENT_LIST_DIR}/lib$name.so"
    IMPORTED_SONAME "lib$name.so"
    INTERFACE_INCLUDE_DIRECTORIES "$${CMAKE_CURRENT_LIST_DIR}")
  add_library($name::static STATIC IMPORTED)
  set_target_properties($name::static PROPERTIES
    IMPORTED_LOCATION "$${CMAKE_CURRENT_LIST_DIR}/lib$name.a"
    INTERFACE_INCLUDE_DIRECTORIES "$${CMAKE_CURRENT_LIST_DIR}"
    INTERFACE_LINK_LIBRARIES "m;pthread")
endif()
""")


def pkg_config_text(name: str) -> str:
    """The file of pkg-config for a package; the folder may be moved."""
    return _PKG_CONFIG.substitute(name=name)


def cmake_text(name: str) -> str:
    """The file with which CMake's `find_package` finds a package."""
    return _CMAKE.substitute(name=name)
