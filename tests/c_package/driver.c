/* Runs calls that it reads from the standard input, and writes their results to the standard output: for each call the
   status, the message and the results. All integers are of 64 bits.
   Usage: driver THREADS CALLERS POISON FAIL_AFTER WEIGHTS. FAIL_AFTER is the number of allocations that succeed, or -1.
   WEIGHTS is the path of their file, "-" for arrays that come before the calls, or "" for none. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { MOST_ARRAYS = 512, MOST_RANK = 8, MOST_CALLERS = 16, OFFSET = 16 };

typedef struct call {
  int64_t shapes[2 * MOST_ARRAYS][MOST_RANK];
  void* data[2 * MOST_ARRAYS];
  model_status status;
  char message[4096];
} call;

static model* shared;
static int poison;
static long left_to_allocate = -1, live;

static void* get(void* context, size_t bytes, size_t alignment) {
  void* memory = NULL;
  const long left = __atomic_load_n(&left_to_allocate, __ATOMIC_SEQ_CST);
  (void)context;
  if (left == 0) return NULL;
  if (left > 0) __atomic_fetch_sub(&left_to_allocate, 1, __ATOMIC_SEQ_CST);
  if (posix_memalign(&memory, alignment, bytes) != 0) return NULL;
  memset(memory, 0xff, bytes); /* what is read has to be written first */
  __atomic_fetch_add(&live, 1, __ATOMIC_SEQ_CST);
  return memory;
}

static void put(void* context, void* memory) {
  (void)context;
  __atomic_fetch_sub(&live, 1, __ATOMIC_SEQ_CST);
  free(memory);
}

static void read_all(void* data, size_t bytes) {
  if (fread(data, 1, bytes, stdin) != bytes) exit(3);
}

static void write_all(const void* data, size_t bytes) {
  if (fwrite(data, 1, bytes, stdout) != bytes) exit(4);
}

static size_t bytes_of(const model_array* array, const int64_t* shape) {
  size_t bytes = array->item_bytes;
  int axis;
  for (axis = 0; axis < array->rank; axis++) bytes *= shape[axis] < 0 ? 0 : (size_t)shape[axis];
  return bytes;
}

/* Arrays begin 16 bytes beyond a line: calls must not rely on more than the alignment of elements. */
static char* array_of(size_t bytes) {
  char* memory = malloc(bytes + OFFSET);
  if (memory == NULL) exit(5);
  memset(memory, poison, bytes + OFFSET);
  return memory + OFFSET;
}

static void* make_call(void* given) {
  call* one = given;
  const int arguments = model_argument_count(), results = model_result_count();
  const int64_t* shapes[MOST_ARRAYS];
  int64_t* found[MOST_ARRAYS];
  int k;
  for (k = 0; k < arguments; k++) shapes[k] = one->shapes[k];
  for (k = 0; k < results; k++) found[k] = one->shapes[MOST_ARRAYS + k];
  one->status = model_result_shapes(shared, (const void* const*)one->data, shapes, found, one->message, 4096);
  if (one->status != MODEL_OK) return NULL;
  for (k = 0; k < results; k++) one->data[MOST_ARRAYS + k] = array_of(bytes_of(model_result(k), found[k]));
  one->status =
      model_run(shared, (const void* const*)one->data, shapes, one->data + MOST_ARRAYS, one->message, 4096);
  return NULL;
}

static void write_call(const call* one) {
  const int64_t status = (int64_t)one->status, length = (int64_t)strlen(one->message);
  int k;
  write_all(&status, sizeof status);
  write_all(&length, sizeof length);
  write_all(one->message, (size_t)length);
  for (k = 0; k < model_result_count() && status == MODEL_OK; k++) {
    const int64_t* shape = one->shapes[MOST_ARRAYS + k];
    write_all(shape, sizeof *shape * (size_t)model_result(k)->rank);
    write_all(one->data[MOST_ARRAYS + k], bytes_of(model_result(k), shape));
  }
}

static void release(call* one, int is_first) {
  int k;
  for (k = is_first ? 0 : MOST_ARRAYS; k < 2 * MOST_ARRAYS; k++)
    if (one->data[k] != NULL) free((char*)one->data[k] - OFFSET);
}

static void read_call(call* one) {
  int k;
  memset(one, 0, sizeof *one);
  for (k = 0; k < model_argument_count(); k++) {
    const size_t rank = (size_t)model_argument(k)->rank;
    size_t bytes;
    read_all(one->shapes[k], sizeof(int64_t) * rank);
    bytes = bytes_of(model_argument(k), one->shapes[k]);
    one->data[k] = array_of(bytes);
    read_all(one->data[k], bytes);
  }
}

/* Weights as they come, in the places of arguments. */
static void read_weights(void** arrays) {
  int k;
  for (k = 0; k < model_weight_count(); k++) {
    const size_t bytes = bytes_of(model_weight(k), model_weight(k)->shape);
    arrays[k] = array_of(bytes);
    read_all(arrays[k], bytes);
  }
}

int main(int argc, char** argv) {
  static void* weights[MOST_ARRAYS];
  static call calls[MOST_CALLERS];
  pthread_t callers[MOST_CALLERS];
  model_options options = {0};
  int64_t count, status;
  int k, threads;
  if (argc != 6) return 2;
  options.allocate = get;
  options.release = put;
  options.threads = atoi(argv[1]);
  threads = atoi(argv[2]);
  poison = atoi(argv[3]);
  left_to_allocate = atol(argv[4]);
  if (strcmp(argv[5], "-") == 0) {
    read_weights(weights);
    options.weight_arrays = (const void* const*)weights;
  } else if (argv[5][0] != 0) {
    options.weights = argv[5];
  }
  status = (int64_t)model_create(&shared, &options);
  write_all(&status, sizeof status);
  if (status != MODEL_OK) return shared != NULL || live != 0 ? 6 : 0;
  read_all(&count, sizeof count);
  for (; count > 0; count--) {
    read_call(&calls[0]);
    for (k = 1; k < threads; k++) calls[k] = calls[0];
    for (k = 1; k < threads; k++)
      if (pthread_create(&callers[k], NULL, make_call, &calls[k]) != 0) return 7;
    make_call(&calls[0]);
    for (k = 1; k < threads; k++) pthread_join(callers[k], NULL);
    for (k = 0; k < threads; k++) write_call(&calls[k]);
    for (k = 0; k < threads; k++) release(&calls[k], k == 0);
  }
  model_destroy(shared);
  for (k = 0; k < MOST_ARRAYS; k++)
    if (weights[k] != NULL) free((char*)weights[k] - OFFSET);
  return live == 0 ? 0 : 8;
}
