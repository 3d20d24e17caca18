// Functions and types of the running Python (stable ABI) and NumPy (documented C API) that a call uses.
// `runtime/interpreter.py` looks them up by name, so that nothing here is compiled against their headers.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ShloObject;  // a PyObject, opaque except for its type

struct ShloBuffer {  // Py_buffer, as the stable ABI has it since 3.11
  void* data;
  ShloObject* owner;
  int64_t bytes, itemsize;
  int32_t readonly, rank;
  char* format;
  int64_t* shape;
  int64_t *strides, *suboffsets;
  void* internal;
};

// In the order of `runtime/interpreter.py`. `stolen` and `borrow` in names mark stolen and borrowed references.
struct ShloInterpreter {
  int64_t object_header;  // bytes of an object's header; its last word is the type
  int64_t tuple_header;   // bytes before the members of a tuple
  ShloObject *array_type, *tuple_type, *list_type, *dict_type, *none, *not_implemented, *memory_error, *runtime_error, *interrupt;
  void (*increase)(ShloObject*);
  void (*decrease)(ShloObject*);
  ShloObject* (*new_tuple)(int64_t);
  int32_t (*set_in_tuple)(ShloObject*, int64_t, ShloObject* stolen);
  ShloObject* (*new_list)(int64_t);
  int64_t (*length_of_list)(ShloObject*);
  ShloObject* (*borrow_from_list)(ShloObject*, int64_t);
  int32_t (*set_in_list)(ShloObject*, int64_t, ShloObject* stolen);
  ShloObject* (*new_dict)();
  int64_t (*length_of_dict)(ShloObject*);
  ShloObject* (*borrow_from_dict)(ShloObject*, ShloObject* key);  // PyDict_GetItemWithError
  int32_t (*set_in_dict)(ShloObject*, ShloObject* key, ShloObject* value);
  ShloObject* (*new_capsule)(void*, const char* name, void (*destroy)(ShloObject*));
  void* (*capsule_pointer)(ShloObject*, const char* name);
  ShloObject* (*new_function)(void* method, ShloObject* self, ShloObject* module);
  ShloObject* (*call)(ShloObject*, ShloObject* const*, size_t count, ShloObject* keywords);
  int32_t (*get_buffer)(ShloObject*, ShloBuffer*, int32_t flags);
  void (*release_buffer)(ShloBuffer*);
  ShloObject* (*get_attribute)(ShloObject*, ShloObject* name);
  ShloObject* (*new_weak_reference)(ShloObject*, ShloObject* callback);
  void (*clear_error)();
  ShloObject* (*error)();                 // PyErr_Occurred: the type of the error that is set, borrowed; or null
  int32_t (*error_is)(ShloObject* type);  // PyErr_ExceptionMatches
  void (*set_interrupt)();                // as if the user had interrupted the process
  ShloObject* (*raise)(ShloObject* type, const char* format, ...);  // PyErr_Format, which returns null
  void* (*save_thread)();
  void (*restore_thread)(void*);
  // PyArray_NewFromDescr(type, dtype, rank, dims, strides, data, flags, object), PyArray_SetBaseObject(array, base)
  ShloObject* (*new_array)(ShloObject*, ShloObject* stolen, int32_t, const int64_t*, const int64_t*, void*, int32_t,
                           ShloObject*);
  int32_t (*set_base)(ShloObject*, ShloObject* stolen);
};

// An ndarray after Python's object header: NumPy's documented `PyArrayObject_fields`.
struct ShloArray {
  char* data;
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides;
  const void* base;
  const void* dtype;
  int32_t flags;
};

constexpr int32_t kShloContiguous = 0x0001;  // NPY_ARRAY_C_CONTIGUOUS
constexpr int32_t kShloAligned = 0x0100;     // NPY_ARRAY_ALIGNED
constexpr int32_t kShloWriteable = 0x0400;   // NPY_ARRAY_WRITEABLE
