// Executes a plan of launches in a process of its own, which a sanitizer can watch as a whole.
//
//   library PATH
//   buffer BYTES FILE                        the next buffer of the launch: what it holds before, poison if FILE is -
//   launch KERNEL BLOCKS THREADS SHARED SCHEDULE SEED ORDERED MOST_BLOCKS SKIPPED ARGUMENT...
//       an argument is bNUMBER, a buffer, or nNUMBER; SKIPPED is the barrier to leave out, as its offset in the library
//   expect NUMBER FILE                       compare a buffer with what it must hold now
//   fresh                                    forget all buffers
//
// Prints for each launch a line `barrier OFFSET PLACE WHAT` for all that ran, then `ok`, `wrong NUMBER` or `error MESSAGE`.
// The process ends at an error.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "emulator.h"

namespace {

struct Buffer {
  char* start;
  size_t size;
};

std::string read_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Runner {
 public:
  bool execute(const std::string& line);
  void finish();

 private:
  void add_buffer(std::istream& in);
  bool launch(std::istream& in);
  void expect(std::istream& in);
  void fresh();

  void* library_ = nullptr;
  uint64_t base_ = 0;
  std::vector<Buffer> buffers_;
  std::string outcome_;
};

bool Runner::execute(const std::string& line) {
  std::istringstream in(line);
  std::string verb, path;
  in >> verb;
  if (verb == "library") {
    in >> path;
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) return std::cout << "error " << dlerror() << std::endl, false;
  }
  if (verb == "buffer") add_buffer(in);
  if (verb == "expect") expect(in);
  if (verb == "fresh") fresh();
  return verb == "launch" ? launch(in) : true;
}

// Exactly as large as it says, so that a sanitizer knows its bounds.
void Runner::add_buffer(std::istream& in) {
  size_t size;
  std::string name;
  in >> size >> name;
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, size ? size : 1)) abort();
  memset(memory, 0xff, size);
  if (name != "-") memcpy(memory, read_file(name).data(), size);
  buffers_.push_back({(char*)memory, size});
}

bool Runner::launch(std::istream& in) {
  std::string name, argument;
  dim3 grid = {1, 1, 1}, block = {1, 1, 1};
  size_t shared;
  EmuSettings settings = {};
  in >> name >> grid.x >> block.x >> shared >> settings.schedule >> settings.seed >> settings.ordered >>
      settings.most_blocks >> settings.skipped;
  settings.seconds = 60;
  std::vector<int64_t> values;
  while (in >> argument) {
    const int64_t number = atoll(argument.c_str() + 1);
    values.push_back(argument[0] == 'b' ? (int64_t)buffers_[(size_t)number].start : number);
  }
  std::vector<void*> params;
  for (int64_t& value : values) params.push_back(&value);
  const EmuKernel* const kernel = (const EmuKernel*)dlsym(library_, ("emu_kernel_" + name).c_str());
  if (!kernel) return std::cout << "error no kernel " << name << std::endl, false;
  Dl_info info;
  dladdr((const void*)kernel, &info);
  base_ = (uint64_t)info.dli_fbase;
  if (settings.skipped) settings.skipped += base_;
  finish();
  const int code = emu_run(kernel, grid, block, shared, params.data(), &settings);
  std::istringstream barriers(emu_barriers());
  for (std::string one; std::getline(barriers, one);) std::cout << "barrier " << one << "\n";
  if (code) return std::cout << "error " << emu_error() << std::endl, false;
  outcome_ = "ok";
  return true;
}

void Runner::expect(std::istream& in) {
  size_t number;
  std::string name;
  in >> number >> name;
  const std::string wanted = read_file(name);
  if (outcome_ == "ok" && memcmp(wanted.data(), buffers_[number].start, wanted.size()) != 0)
    outcome_ = "wrong " + std::to_string(number);
}

void Runner::fresh() {
  for (const Buffer& buffer : buffers_) free(buffer.start);
  buffers_.clear();
}

void Runner::finish() {
  if (!outcome_.empty()) std::cout << outcome_ << std::endl;
  outcome_.clear();
}

}  // namespace

int main(int count, char** names) {
  if (count != 2) return 64;
  std::ifstream plan(names[1]);
  Runner runner;
  std::string line;
  bool good = true;
  while (good && std::getline(plan, line)) good = runner.execute(line);
  runner.finish();
  return good ? 0 : 2;
}
