// A stand-in for XLA, as far as a handler sees it, and the handler HANDLER. Compiled behind XLA's c_api.h; prints the
// first thing that is wrong and exits with 1.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SHLO_UNLOCKED  // for the test of this test
static int no_lock(pthread_mutex_t*) { return 0; }
#define pthread_mutex_lock no_lock
#define pthread_mutex_unlock no_lock
#endif
#include HANDLER

namespace {

constexpr int64_t kThreads = 4, kRounds = 150;

void need(bool is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "wrong: %s\n", what);
  exit(1);
}

// --- XLA ------------------------------------------------------------------------------------------------------------

struct Error {
  XLA_FFI_Error_Code code;
  char message[256];
};

struct Context {  // of an executable
  void* state;
  void* stream;     // of a GPU
  int64_t in_use;   // bytes of the allocator that were not given back
  bool has_no_memory;
};

XLA_FFI_Error* create(XLA_FFI_Error_Create_Args* args) {
  Error* made = static_cast<Error*>(malloc(sizeof(Error)));
  made->code = args->errc;
  snprintf(made->message, sizeof made->message, "%s", args->message);
  return reinterpret_cast<XLA_FFI_Error*>(made);
}

XLA_FFI_Error* set_state(XLA_FFI_State_Set_Args* args) {
  reinterpret_cast<Context*>(args->ctx)->state = args->state;
  return nullptr;
}

XLA_FFI_Error* get_state(XLA_FFI_State_Get_Args* args) {
  args->state = reinterpret_cast<Context*>(args->ctx)->state;
  return nullptr;
}

void get_message(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = reinterpret_cast<Error*>(args->error)->message;
}

void destroy_error(XLA_FFI_Error_Destroy_Args* args) { free(args->error); }

XLA_FFI_Error* get_stream(XLA_FFI_Stream_Get_Args* args) {
  args->stream = reinterpret_cast<Context*>(args->ctx)->stream;
  return nullptr;
}

XLA_FFI_Error* allocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  Context* context = reinterpret_cast<Context*>(args->ctx);
  need(args->alignment <= 16, "XLA refuses to align memory more");
  if (context->has_no_memory) {
    XLA_FFI_Error_Create_Args error = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, "the allocator is empty",
                                       XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};
    return create(&error);
  }
  args->data = malloc(args->size);
  context->in_use += static_cast<int64_t>(args->size);
  return nullptr;
}

XLA_FFI_Error* give_back_memory(XLA_FFI_DeviceMemory_Free_Args* args) {
  reinterpret_cast<Context*>(args->ctx)->in_use -= static_cast<int64_t>(args->size);
  free(args->data);
  return nullptr;
}

XLA_FFI_Api api() {
  XLA_FFI_Api found = {};
  found.XLA_FFI_Error_Create = create;
  found.XLA_FFI_Error_GetMessage = get_message;
  found.XLA_FFI_Error_Destroy = destroy_error;
  found.XLA_FFI_Stream_Get = get_stream;
  found.XLA_FFI_DeviceMemory_Allocate = allocate;
  found.XLA_FFI_DeviceMemory_Free = give_back_memory;
  found.XLA_FFI_State_Set = set_state;
  found.XLA_FFI_State_Get = get_state;
  return found;
}

const XLA_FFI_Api kApi = api();

XLA_FFI_CallFrame frame_of(Context* context) {
  XLA_FFI_CallFrame frame = {};
  frame.api = &kApi;
  frame.ctx = reinterpret_cast<XLA_FFI_ExecutionContext*>(context);
  return frame;
}

XLA_FFI_Error* load(Context* context, int64_t number, int64_t made_by) {
  XLA_FFI_Scalar scalars[] = {{XLA_FFI_DataType_S64, &number}, {XLA_FFI_DataType_S64, &made_by}};
  XLA_FFI_AttrType types[] = {XLA_FFI_AttrType_SCALAR, XLA_FFI_AttrType_SCALAR};
  XLA_FFI_ByteSpan spans[] = {{"call", 4}, {"process", 7}};
  XLA_FFI_ByteSpan* names[] = {&spans[0], &spans[1]};
  void* values[] = {&scalars[0], &scalars[1]};
  XLA_FFI_CallFrame frame = frame_of(context);
  frame.attrs.size = 2;
  frame.attrs.types = types;
  frame.attrs.names = names;
  frame.attrs.attrs = values;
  return shlo_xla_instantiate(&frame);
}

// Runs on an array of `size` f32, and one more for the scratch copy; the result has the same size.
XLA_FFI_Error* execute_on(Context* context, float* x, float* y, float* result, int64_t size) {
  XLA_FFI_Buffer buffers[3] = {};
  float* const data[] = {x, y, result};
  for (int k = 0; k < 3; k++) {
    buffers[k].dtype = XLA_FFI_DataType_F32;
    buffers[k].data = data[k];
    buffers[k].rank = 1;
    buffers[k].dims = &size;
  }
  void* given[] = {&buffers[0], &buffers[1]};
  void* results[] = {&buffers[2]};
  XLA_FFI_CallFrame frame = frame_of(context);
  frame.args.size = 2;
  frame.args.args = given;
  frame.rets.size = 1;
  frame.rets.rets = results;
  return shlo_xla_execute(&frame);
}

void fails(XLA_FFI_Error* error, XLA_FFI_Error_Code code, const char* message) {
  need(error != nullptr, message);
  Error* found = reinterpret_cast<Error*>(error);
  need(found->code == code && strstr(found->message, message) != nullptr, found->message);
  free(found);
}

}  // namespace
