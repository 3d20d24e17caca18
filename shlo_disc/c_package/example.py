"""A complete program in C that runs a package at sizes given on its command line."""

from __future__ import annotations

from string import Template

from shlo_disc.artifact import Artifact
from shlo_disc.c_package.spelling import c_numbers, c_string
from shlo_disc.c_package.weights import NO_WEIGHTS, Weights


def example_text(artifact: Artifact, name: str, weights: Weights = NO_WEIGHTS) -> str:
    """The example of a package."""
    arguments = [one for number, one in enumerate(artifact.arguments) if number not in weights.shapes]
    sizes = [size for one in arguments for size in one.shape if isinstance(size, str)]
    symbols = [*dict.fromkeys(sizes)]
    numbers = [symbols.index(size) for size in sizes]
    return _EXAMPLE.substitute(
        name=name,
        NAME=name.upper(),
        numbers=c_numbers(numbers),
        count=len(symbols),
        names=", ".join(map(c_string, symbols)) or '""',
        weights="NULL" if weights.file is None else c_string(f"{name}.weights"),
    )


_EXAMPLE = Template("""\
/* Runs the program at sizes given on the command line, on arrays of simple numbers, and prints its results.
   cc example.c -I. -L. -l$name -lm -lpthread -o example && LD_LIBRARY_PATH=. ./example SIZES */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "$name.h"

enum { SIZES = $count, MOST_RANK = 32, SHOWN = 8 };
static const char* const names[] = {$names};
/* For each dynamic size of the arguments, in order: the number of the value on the command line. */
static const int numbers[] = {
    $numbers};
/* The file of the arguments that were bound; NULL if there is none, and arrays take its place. */
static const char* const weights = $weights;

static size_t elements(const ${name}_array* array, const int64_t* shape) {
  size_t count = 1;
  int axis;
  for (axis = 0; axis < array->rank; axis++) count *= (size_t)shape[axis];
  return count;
}

static void* allocate(size_t bytes) {
  void* memory = calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == NULL) {
    fputs("no memory\\n", stderr);
    exit(1);
  }
  return memory;
}

/* Floats count up in quarters, integers are 1; other types stay 0. */
static void fill(const ${name}_array* array, void* data, size_t count) {
  size_t k;
  for (k = 0; k < count; k++) {
    switch (array->dtype) {
      case ${NAME}_FLOAT32: ((float*)data)[k] = (float)(k % 7) * 0.25f; break;
      case ${NAME}_FLOAT64: ((double*)data)[k] = (double)(k % 7) * 0.25; break;
      case ${NAME}_INT64: ((int64_t*)data)[k] = 1; break;
      case ${NAME}_INT32: ((int32_t*)data)[k] = 1; break;
      case ${NAME}_BOOL: ((uint8_t*)data)[k] = 1; break;
      default: break;
    }
  }
}

static void print_element(const ${name}_array* array, const void* data, size_t k) {
  size_t byte;
  switch (array->dtype) {
    case ${NAME}_FLOAT32: printf(" %.9g", (double)((const float*)data)[k]); break;
    case ${NAME}_FLOAT64: printf(" %.17g", ((const double*)data)[k]); break;
    case ${NAME}_INT64: printf(" %" PRId64, ((const int64_t*)data)[k]); break;
    case ${NAME}_INT32: printf(" %" PRId32, ((const int32_t*)data)[k]); break;
    case ${NAME}_BOOL: printf(" %d", ((const uint8_t*)data)[k]); break;
    default:
      printf(" 0x");
      for (byte = array->item_bytes; byte-- > 0;) printf("%02x", ((const uint8_t*)data)[k * array->item_bytes + byte]);
  }
}

static void print_result(int number, const int64_t* shape, const void* data) {
  const ${name}_array* array = ${name}_result(number);
  const size_t count = elements(array, shape);
  size_t k;
  int axis;
  printf("%s (", array->name);
  for (axis = 0; axis < array->rank; axis++) printf(axis ? ", %" PRId64 : "%" PRId64, shape[axis]);
  printf("):");
  for (k = 0; k < count && k < SHOWN; k++) print_element(array, data, k);
  puts(count > SHOWN ? " ..." : "");
}

/* Arrays of simple numbers as weights. */
static void** filled_weights(void) {
  const int count = ${name}_weight_count();
  void** arrays = allocate(sizeof *arrays * (size_t)count);
  int k;
  for (k = 0; k < count; k++) {
    const ${name}_array* array = ${name}_weight(k);
    arrays[k] = allocate(elements(array, array->shape) * array->item_bytes);
    fill(array, arrays[k], elements(array, array->shape));
  }
  return arrays;
}

static int failed(const char* what, ${name}_status status, const char* message) {
  fprintf(stderr, "%s: error %d: %s\\n", what, (int)status, message);
  return 1;
}

int main(int argc, char** argv) {
  const int arguments = ${name}_argument_count(), results = ${name}_result_count();
  int64_t(*shapes)[MOST_RANK] = allocate(sizeof *shapes * (size_t)(arguments + results));
  const int64_t** argument_shapes = allocate(sizeof *argument_shapes * (size_t)arguments);
  int64_t** result_shapes = allocate(sizeof *result_shapes * (size_t)results);
  void** data = allocate(sizeof *data * (size_t)(arguments + results));
  char message[2048];
  void** weight_arrays = NULL;
  ${name}_options options = {0};
  ${name}* model;
  ${name}_status status;
  int k, axis, dynamic = 0;
  if (argc != SIZES + 1) {
    fprintf(stderr, "usage: %s", argv[0]);
    for (k = 0; k < SIZES; k++) fprintf(stderr, " %s", names[k]);
    fputc('\\n', stderr);
    return 2;
  }
  for (k = 0; k < arguments; k++) {
    const ${name}_array* array = ${name}_argument(k);
    for (axis = 0; axis < array->rank; axis++) {
      shapes[k][axis] = array->shape[axis];
      if (array->shape[axis] < 0) shapes[k][axis] = strtoll(argv[1 + numbers[dynamic++]], NULL, 10);
      if (shapes[k][axis] < 0) return failed("sizes", ${NAME}_ERROR_SHAPE, "found a negative size");
    }
    argument_shapes[k] = shapes[k];
    data[k] = allocate(elements(array, shapes[k]) * array->item_bytes);
    fill(array, data[k], elements(array, shapes[k]));
  }
  if (weights == NULL && ${name}_weight_count() > 0) weight_arrays = filled_weights();
  options.weights = weights;
  options.weight_arrays = (const void* const*)weight_arrays;
  options.message = message;
  options.message_bytes = sizeof message;
  status = ${name}_create(&model, &options);
  if (status != ${NAME}_OK) return failed("create", status, message);
  for (k = 0; k < results; k++) result_shapes[k] = shapes[arguments + k];
  status = ${name}_result_shapes(
      model, (const void* const*)data, argument_shapes, result_shapes, message, sizeof message);
  if (status != ${NAME}_OK) return failed("result_shapes", status, message);
  for (k = 0; k < results; k++) {
    const ${name}_array* array = ${name}_result(k);
    data[arguments + k] = allocate(elements(array, result_shapes[k]) * array->item_bytes);
  }
  status = ${name}_run(model, (const void* const*)data, argument_shapes, data + arguments, message, sizeof message);
  if (status != ${NAME}_OK) return failed("run", status, message);
  for (k = 0; k < results; k++) print_result(k, result_shapes[k], data[arguments + k]);
  ${name}_destroy(model);
  for (k = 0; k < arguments + results; k++) free(data[k]);
  for (k = 0; weight_arrays != NULL && k < ${name}_weight_count(); k++) free(weight_arrays[k]);
  free(weight_arrays);
  free(data);
  free(result_shapes);
  free(argument_shapes);
  free(shapes);
  return 0;
}
""")
