// The emulator: one fiber per CUDA thread, one block at a time.
//
// Threads run until they wait for others; a schedule picks who goes on. Sanitizers are told about the switches and about
// what barriers order. This file itself is never instrumented, so its own accesses are invisible to them; it must not call
// memcpy and the like on what kernels see, because libtsan checks those for every caller.
#include "emulator.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "fiber.h"

extern "C" {  // there only in a process that runs under the sanitizer
#define WEAK __attribute__((weak))
WEAK void* __tsan_create_fiber(unsigned flags);
WEAK void __tsan_destroy_fiber(void* fiber);
WEAK void __tsan_switch_to_fiber(void* fiber, unsigned flags);
WEAK void* __tsan_get_current_fiber();
WEAK void __tsan_acquire(void* key);
WEAK void __tsan_release(void* key);
WEAK void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
WEAK void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
}

EmuThread* emu_thread;
uint3 emu_block;
dim3 emu_block_size, emu_grid_size;
uint64_t emu_block_number;

namespace {

constexpr unsigned MOST_THREADS = 1024, WARP = 32, SLOT = 256;
constexpr size_t STACK = 256 << 10, GUARD = 128;
constexpr size_t MOST_SHARED = 232448, MOST_STATIC_SHARED = 48 << 10;  // of sm_90, in bytes
constexpr unsigned char POISON = 0xff, GUARDED = 0xa5;
constexpr int INVALID_VALUE = 1, ILLEGAL_ADDRESS = 700, TIMEOUT = 702, MISALIGNED_ADDRESS = 716, LAUNCH_FAILED = 719;  // CUresult

enum class State : uint8_t { NEW, READY, AT_BARRIER, AT_WARP_OP, DONE };

struct Thread : EmuThread {
  unsigned number;
  State state;
  const EmuSite* site;  // where it waits
  unsigned mask, phase;  // of its last exchange
  char* stack;
  Context context;
  void* tsan;
  void* fake_stack;
};

// Slots and keys alternate: a lane reads those of one operation while others are at the next one already.
struct Warp {
  unsigned live, arrived, mask, phase, votes, result[2];
  const EmuSite* site;
  alignas(16) unsigned char slot[2][WARP][SLOT];
};

struct Barrier {
  unsigned waiting, sum, phase;
  int operation, result;
  const EmuSite* site;
};

// What the race checker knows the barriers and warps of a block by. Each block has its own, or barriers would order blocks.
struct Keys {
  char* barrier(unsigned phase) { return key_[phase]; }
  char* warp(unsigned number, unsigned phase) { return key_[2 + 2 * number + phase]; }

 private:
  char key_[2 + 2 * MOST_THREADS / WARP][8];
};
Keys keys_of_blocks[256];

// Memory that lives as long as a block, with guards around it.
struct Piece {
  const char* name;
  char* memory;
  size_t size;
  char* start() const { return memory + GUARD; }
};

bool race_checked() { return __tsan_switch_to_fiber != nullptr; }
bool memory_checked() { return __sanitizer_start_switch_fiber != nullptr; }

void release(char* key) { if (race_checked()) __tsan_release(key); }
void acquire(char* key) { if (race_checked()) __tsan_acquire(key); }

// memcpy that libtsan does not see.
void copy_bytes(void* to, const void* from, size_t count) {
#ifdef __x86_64__
  if (race_checked()) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return;
  }
#endif
  memcpy(to, from, count);
}

std::string place(const EmuSite* site) {
  const char* slash = strrchr(site->file, '/');
  return std::string(slash ? slash + 1 : site->file) + ":" + std::to_string(site->line);
}

class Launch;
std::mutex launching;
Launch* running;
char error_text[1024];
std::map<uintptr_t, const EmuSite*> barriers_seen;

class Launch {
 public:
  Launch(const EmuKernel* kernel, dim3 grid, dim3 block, size_t shared, void** params, const EmuSettings& settings)
      : kernel_(kernel), params_(params), settings_(settings), grid_(grid), block_(block), dynamic_size_(shared),
        random_(settings.seed * 2654435761u + 88172645463325252u), threads_(block.x * block.y * block.z),
        warps_((threads_.size() + WARP - 1) / WARP) {}

  int run();

  // ---- what threads call
  int barrier(const EmuSite* site, int operation, int predicate);
  unsigned warp_operation(const EmuSite* site, unsigned mask, bool orders = false);
  void exchange(const EmuSite* site, const void* mine, unsigned bytes, unsigned mask);
  const void* peer(unsigned lane);
  unsigned ballot(const EmuSite* site, unsigned mask, int predicate);
  void* shared_array(EmuShared* array, size_t bytes);
  void* dynamic() { return pieces_[0].start(); }
  bool skips(uintptr_t caller) const { return caller == settings_.skipped; }

  [[gnu::format(printf, 3, 4)]] void fail(int code, const char* format, ...);
  void thread_main();
  [[noreturn]] void stop_at_signal(int number, siginfo_t* info);

 private:
  void run_block(uint64_t number);
  void start_threads();
  void end_block();
  void make_order(std::vector<uint64_t>& order, uint64_t blocks);
  uint64_t random() {
    random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
    return random_ >> 11;
  }

  Thread* next();
  void ready(unsigned thread) { ready_[(first_ready_ + ready_count_++) % MOST_THREADS] = (uint16_t)thread; }
  void switch_to(Thread* to);
  void park(State state, const EmuSite* site);
  void leave_barrier();
  Thread* finish();
  void report_deadlock();
  static Keys& keys() { return keys_of_blocks[emu_block_number % 256]; }
  Thread& self() { return *static_cast<Thread*>(emu_thread); }

  Piece new_piece(const char* name, size_t size);
  void as_host(bool on);

  const EmuKernel* kernel_;
  void** params_;
  EmuSettings settings_;
  dim3 grid_, block_;
  size_t dynamic_size_;
  uint64_t random_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  Barrier barrier_{};
  unsigned live_ = 0;
  uint16_t ready_[MOST_THREADS];
  unsigned first_ready_ = 0, ready_count_ = 0;
  std::vector<char*> free_stacks_;
  std::vector<Piece> pieces_, old_pieces_;
  size_t static_size_ = 0;
  char start_key_ = 0, shared_key_ = 0, end_key_ = 0;

  Context host_{};
  void* host_tsan_ = nullptr;
  void* host_fake_stack_ = nullptr;
  const void* host_stack_ = nullptr;
  size_t host_stack_size_ = 0;
  int code_ = 0;

 public:
  sigjmp_buf escape;
};

// ---- switching ---------------------------------------------------------------------------------------------------------

char* stack_of(unsigned number) {
  static char* const start = (char*)mmap(nullptr, STACK * 2 * MOST_THREADS, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return start + number * STACK;
}

// What the race checker takes for a thread, and its stack. They take long to make, so every second block uses the same
// ones: neighbouring blocks are different threads.
void*& checked_fiber(unsigned number) {
  static void* fibers[2 * MOST_THREADS];
  return fibers[number];
}
void forget_checked_fibers() {
  for (unsigned k = 0; k < 2 * MOST_THREADS; ++k) {
    if (checked_fiber(k)) __tsan_destroy_fiber(checked_fiber(k));
    checked_fiber(k) = nullptr;
  }
}

void thread_entry() {
  running->thread_main();
  abort();
}

Thread* Launch::next() {
  if (ready_count_ == 0) return nullptr;
  const auto at = [this](unsigned k) -> uint16_t& { return ready_[(first_ready_ + k) % MOST_THREADS]; };
  --ready_count_;
  if (settings_.schedule == EMU_LIFO) return &threads_[at(ready_count_)];
  if (settings_.schedule == EMU_RANDOM) std::swap(at(0), at((unsigned)(random() % (ready_count_ + 1))));
  return &threads_[ready_[first_ready_++ % MOST_THREADS]];
}

// Go on with a thread, or with the host. A new thread gets a stack.
void Launch::switch_to(Thread* to) {
  Thread* const from = static_cast<Thread*>(emu_thread);
  if (to && to->state == State::NEW) {
    if (!race_checked()) to->stack = free_stacks_.back(), free_stacks_.pop_back();
    to->state = State::READY;
    prepare_context(to->context, to->stack, STACK, thread_entry);
  }
  emu_thread = to;
  if (race_checked()) __tsan_switch_to_fiber(to ? to->tsan : host_tsan_, 1 /* orders nothing */);
  if (memory_checked()) {
    void** const save = from ? from->state == State::DONE ? nullptr : &from->fake_stack : &host_fake_stack_;
    if (to) __sanitizer_start_switch_fiber(save, to->stack, STACK);
    else __sanitizer_start_switch_fiber(save, host_stack_, host_stack_size_);
  }
  switch_context(from ? from->context : host_, to ? to->context : host_);
  if (memory_checked()) __sanitizer_finish_switch_fiber(from ? from->fake_stack : host_fake_stack_, nullptr, nullptr);
}

// Runs threads on one stack, one after the other, as long as the next one has not begun yet.
void Launch::thread_main() {
  if (memory_checked()) {
    const void* bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
    if (!host_stack_) host_stack_ = bottom, host_stack_size_ = size;
  }
  for (;;) {
    acquire(&start_key_);
    kernel_->call(params_);
    char* const stack = self().stack;
    Thread* const following = finish();
    if (!following || following->state != State::NEW || race_checked()) {
      if (!race_checked()) free_stacks_.push_back(stack);
      switch_to(following);
    }
    following->stack = stack;
    following->state = State::READY;
    emu_thread = following;
  }
}

// The thread waits; returns when it goes on.
void Launch::park(State state, const EmuSite* site) {
  Thread& thread = self();
  thread.state = state;
  thread.site = site;
  Thread* const to = next();
  if (!to) {
    report_deadlock();
    return;
  }
  if (to != &thread) switch_to(to);
  thread.state = State::READY;
}

// The thread has ended; returns who goes on.
Thread* Launch::finish() {
  Thread& thread = self();
  release(&end_key_);
  thread.state = State::DONE;
  --live_;
  warps_[thread.warp].live &= ~(1u << thread.lane);
  if (barrier_.waiting)
    fail(LAUNCH_FAILED, "a thread ends while %u threads wait at %s of %s", barrier_.waiting, barrier_.site->what,
         place(barrier_.site).c_str());
  Thread* const to = next();
  if (!to && live_) report_deadlock();
  return to;
}

void Launch::report_deadlock() {
  std::map<std::string, unsigned> waiting;
  for (const Thread& thread : threads_)
    if (thread.state == State::AT_BARRIER || thread.state == State::AT_WARP_OP)
      ++waiting[std::string(thread.site->what) + " of " + place(thread.site)];
  std::string text;
  for (const auto& [site, count] : waiting) text += ", " + std::to_string(count) + " threads wait at " + site;
  fail(LAUNCH_FAILED, "divergence: no thread can go on%s; %zu have ended", text.c_str(), threads_.size() - live_);
}

// ---- errors ------------------------------------------------------------------------------------------------------------

std::string current_place() {
  const EmuThread* const thread = emu_thread;
  if (!thread) return "";
  const std::string block = std::to_string(emu_block.x), index = std::to_string(thread->index.x);
  return ", block " + block + ", thread " + index;
}

// Record the first error and leave the kernel for good.
void Launch::fail(int code, const char* format, ...) {
  if (!code_) {
    code_ = code;
    char what[640];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    snprintf(error_text, sizeof error_text, "%s%s: %s", kernel_->name, current_place().c_str(), what);
  }
  if (emu_thread) switch_to(nullptr);
}

const char* signal_meaning(int number) {
  switch (number) {
    case SIGSEGV: case SIGBUS: return "an access to an illegal address";
    case SIGFPE: return "a division by zero";
    case SIGILL: return "an instruction that must not be reached";
    default: return "it runs too long: an endless loop, or one that waits for another block";
  }
}

void Launch::stop_at_signal(int number, siginfo_t* info) {
  if (!code_) {
    code_ = number == SIGVTALRM ? TIMEOUT : ILLEGAL_ADDRESS;
    char at[32] = "";
    if (number == SIGSEGV) snprintf(at, sizeof at, " (%p)", info->si_addr);
    snprintf(error_text, sizeof error_text, "%s%s: %s%s", kernel_->name, current_place().c_str(), signal_meaning(number), at);
  }
  emu_thread = nullptr;
  siglongjmp(escape, 1);
}

void on_signal(int number, siginfo_t* info, void*) {
  if (running) running->stop_at_signal(number, info);
}

// Signals become errors of the launch while it runs. The process' own handlers are back afterwards.
class Signals {
 public:
  explicit Signals(double seconds) {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    stack_t stack = {};
    stack.ss_sp = stack_;
    stack.ss_size = sizeof stack_;
    sigaltstack(&stack, &old_stack_);
    for (int k = 0; k < COUNT; ++k)
      if (!sanitized(k)) sigaction(NUMBERS[k], &action, &old_[k]);
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGVTALRM;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    timed_ = seconds > 0 && !race_checked() && timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0;
    itimerspec limit = {};
    limit.it_value.tv_sec = (time_t)seconds;
    limit.it_value.tv_nsec = (long)((seconds - (double)limit.it_value.tv_sec) * 1e9) + 1;
    if (timed_) timer_settime(timer_, 0, &limit, nullptr);
  }
  ~Signals() {
    if (timed_) timer_delete(timer_);
    for (int k = 0; k < COUNT; ++k)
      if (!sanitized(k)) sigaction(NUMBERS[k], &old_[k], nullptr);
    sigaltstack(&old_stack_, nullptr);
  }

 private:
  static constexpr int COUNT = 5, NUMBERS[COUNT] = {SIGVTALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  static bool sanitized(int k) { return k > 0 && (memory_checked() || race_checked()); }  // they report signals themselves
  static char stack_[64 << 10];
  struct sigaction old_[COUNT] = {};
  stack_t old_stack_ = {};
  timer_t timer_{};
  bool timed_ = false;
};
char Signals::stack_[64 << 10];

// ---- barriers and warps ------------------------------------------------------------------------------------------------

int Launch::barrier(const EmuSite* site, int operation, int predicate) {
  if (live_ != threads_.size())
    fail(LAUNCH_FAILED, "%s of %s, but %zu threads have ended", site->what, place(site).c_str(), threads_.size() - live_);
  if (barrier_.waiting && barrier_.site != site)
    fail(LAUNCH_FAILED, "divergence: %s of %s, while %u threads wait at %s of %s", site->what, place(site).c_str(),
         barrier_.waiting, barrier_.site->what, place(barrier_.site).c_str());
  barrier_.site = site;
  barrier_.operation = operation;
  barrier_.sum += (unsigned)predicate;
  char* const key = keys().barrier(barrier_.phase);
  release(key);
  ++barrier_.waiting;
  self().state = State::AT_BARRIER;
  if (barrier_.waiting == live_) leave_barrier();
  park(self().state, site);
  acquire(key);
  return barrier_.result;
}

void Launch::leave_barrier() {
  const unsigned sum = barrier_.sum;
  switch (barrier_.operation) {
    case EMU_AND: barrier_.result = sum == live_; break;
    case EMU_OR: barrier_.result = sum != 0; break;
    default: barrier_.result = (int)sum;
  }
  barrier_.waiting = barrier_.sum = 0;
  barrier_.phase ^= 1;
  for (Thread& thread : threads_) {
    if (thread.state != State::AT_BARRIER) continue;
    thread.state = State::READY;
    ready(thread.number);
  }
}

// Wait until all lanes of `mask` are here; returns the operation's phase. Only __syncwarp `orders` accesses to memory:
// shuffles, votes and products of a warp bring its lanes together, but guarantee nothing about memory.
unsigned Launch::warp_operation(const EmuSite* site, unsigned mask, bool orders) {
  Thread& thread = self();
  Warp& warp = warps_[thread.warp];
  const auto here = [&] { return std::string(site->what) + " of " + place(site); };
  if (!(mask >> thread.lane & 1))
    fail(LAUNCH_FAILED, "%s: the lane itself is not in the mask %08x", here().c_str(), mask);
  if (warp.arrived && (warp.site != site || warp.mask != mask))
    fail(LAUNCH_FAILED, "divergence: %s with mask %08x, while other lanes wait at %s of %s with mask %08x", here().c_str(),
         mask, warp.site->what, place(warp.site).c_str(), warp.mask);
  if (mask & ~warp.live)
    fail(LAUNCH_FAILED, "%s: lanes %08x are in the mask, but have ended or never were", here().c_str(), mask & ~warp.live);
  const unsigned phase = warp.phase;
  warp.site = site;
  warp.mask = mask;
  warp.arrived |= 1u << thread.lane;
  if (orders) release(keys().warp(thread.warp, phase));
  thread.state = State::AT_WARP_OP;
  if (warp.arrived == mask) {
    warp.arrived = 0;
    warp.result[phase] = warp.votes;
    warp.votes = 0;
    warp.phase ^= 1;
    for (unsigned lane = 0; lane < WARP; ++lane) {
      if (!(mask >> lane & 1)) continue;
      threads_[thread.warp * WARP + lane].state = State::READY;
      ready(thread.warp * WARP + lane);
    }
  }
  park(thread.state, site);
  if (orders) acquire(keys().warp(thread.warp, phase));
  return phase;
}

void Launch::exchange(const EmuSite* site, const void* mine, unsigned bytes, unsigned mask) {
  Thread& thread = self();
  Warp& warp = warps_[thread.warp];
  if (bytes > SLOT) fail(LAUNCH_FAILED, "%s of %s: %u bytes, expected at most %u", site->what, place(site).c_str(), bytes, SLOT);
  copy_bytes(warp.slot[warp.phase][thread.lane], mine, bytes);
  thread.mask = mask;
  thread.phase = warp_operation(site, mask);
}

const void* Launch::peer(unsigned lane) {
  Thread& thread = self();
  if (lane >= WARP || !(thread.mask >> lane & 1))
    fail(LAUNCH_FAILED, "%s of %s reads lane %u, which is not in the mask %08x", thread.site->what,
         place(thread.site).c_str(), lane, thread.mask);
  return warps_[thread.warp].slot[thread.phase][lane];
}

unsigned Launch::ballot(const EmuSite* site, unsigned mask, int predicate) {
  Warp& warp = warps_[self().warp];
  if (predicate) warp.votes |= 1u << self().lane;
  const unsigned phase = warp_operation(site, mask), result = warp.result[phase];
  emu_exchanged(site, mask);
  return result;
}

// ---- shared memory -----------------------------------------------------------------------------------------------------

// Sanitizers know the bounds of what malloc gives; without one, guards are looked at when the block has ended.
Piece Launch::new_piece(const char* name, size_t size) {
  void* memory = nullptr;
  if (memory_checked()) {
    if (posix_memalign(&memory, 16, size ? size : 1)) abort();
    memset(memory, POISON, size);
    return {name, (char*)memory - GUARD, size};
  }
  const size_t whole = GUARD + (size + 15) / 16 * 16 + GUARD;
  if (posix_memalign(&memory, GUARD, whole)) abort();
  memset(memory, GUARDED, whole);
  memset((char*)memory + GUARD, POISON, size);
  return {name, (char*)memory, size};
}

// What follows is the host's doing, not the thread's, to the race checker.
void Launch::as_host(bool on) {
  if (race_checked()) __tsan_switch_to_fiber(on ? host_tsan_ : self().tsan, 1);
}

void* Launch::shared_array(EmuShared* array, size_t bytes) {
  if (array->block != emu_block_number) {
    as_host(true);
    pieces_.push_back(new_piece(array->site.what, bytes));
    static_size_ += (bytes + 15) / 16 * 16;
    array->start = pieces_.back().start();
    array->block = emu_block_number;
    release(&shared_key_);
    as_host(false);
  }
  acquire(&shared_key_);
  if (static_size_ > MOST_STATIC_SHARED)
    fail(INVALID_VALUE, "%zu bytes of static shared memory (%s of %s), expected at most %zu", static_size_,
         array->site.what, place(&array->site).c_str(), MOST_STATIC_SHARED);
  if (static_size_ + dynamic_size_ > MOST_SHARED)
    fail(INVALID_VALUE, "%zu bytes of shared memory, expected at most %zu", static_size_ + dynamic_size_, MOST_SHARED);
  return array->start;
}

// ---- blocks ------------------------------------------------------------------------------------------------------------

void Launch::start_threads() {
  const unsigned count = (unsigned)threads_.size();
  live_ = count;
  barrier_ = {};
  first_ready_ = ready_count_ = 0;
  for (Warp& warp : warps_) warp.live = warp.arrived = warp.mask = warp.phase = warp.votes = 0;
  const unsigned half = race_checked() ? (unsigned)(emu_block_number % 2) * MOST_THREADS : 0;
  free_stacks_.clear();
  for (unsigned k = race_checked() ? 0 : count; k-- > 0;) free_stacks_.push_back(stack_of(k));
  for (unsigned k = 0; k < count; ++k) {
    Thread& thread = threads_[k];
    thread.index = {k % block_.x, k / block_.x % block_.y, k / (block_.x * block_.y)};
    thread.number = k, thread.lane = k % WARP, thread.warp = k / WARP;
    thread.state = State::NEW;
    thread.stack = race_checked() ? stack_of(half + k) : nullptr;
    if (race_checked() && !checked_fiber(half + k)) checked_fiber(half + k) = __tsan_create_fiber(0);
    thread.tsan = checked_fiber(half + k);
    thread.fake_stack = nullptr;
    warps_[thread.warp].live |= 1u << thread.lane;
    ready(k);
  }
  release(&start_key_);
}

void Launch::run_block(uint64_t number) {
  ++emu_block_number;
  emu_block = {(unsigned)(number % grid_.x), (unsigned)(number / grid_.x % grid_.y),
               (unsigned)(number / grid_.x / grid_.y)};
  static_size_ = 0;
  pieces_.push_back(new_piece("dynamic shared memory", dynamic_size_));
  start_threads();
  if (sigsetjmp(escape, 0) == 0) switch_to(next());
  end_block();
}

void Launch::end_block() {
  emu_thread = nullptr;
  for (const Piece& piece : pieces_) {
    if (memory_checked()) continue;
    const char* const end = piece.start() + piece.size;
    for (size_t k = 0; k < GUARD; ++k)
      if ((unsigned char)piece.memory[k] != GUARDED || (unsigned char)end[k] != GUARDED) {
        fail(ILLEGAL_ADDRESS, "block %u has written outside of %s (%zu bytes)", emu_block.x, piece.name, piece.size);
        break;
      }
  }
  old_pieces_.insert(old_pieces_.end(), pieces_.begin(), pieces_.end());
  pieces_.clear();
  if (settings_.ordered) acquire(&end_key_);
  if (race_checked() && !settings_.ordered) return;  // blocks that nothing orders must not share memory
  for (const Piece& piece : old_pieces_) free(memory_checked() ? piece.start() : piece.memory);
  old_pieces_.clear();
}

void Launch::make_order(std::vector<uint64_t>& order, uint64_t blocks) {
  const uint64_t most = settings_.most_blocks ? settings_.most_blocks : blocks;
  for (uint64_t k = 0; k < blocks; ++k)
    if (k < most / 2 + most % 2 || k >= blocks - std::min(most / 2, blocks)) order.push_back(k);
  if (settings_.schedule == EMU_LIFO) std::reverse(order.begin(), order.end());
  if (settings_.schedule == EMU_RANDOM)
    for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random() % k]);
}

int Launch::run() {
  const uint64_t blocks = (uint64_t)grid_.x * grid_.y * grid_.z;
  std::vector<uint64_t> order;
  make_order(order, blocks);
  if (race_checked()) host_tsan_ = __tsan_get_current_fiber();
  emu_grid_size = grid_, emu_block_size = block_;
  const Signals signals(settings_.seconds);
  running = this;
  for (size_t k = 0; k < order.size() && !code_; ++k) run_block(order[k]);
  running = nullptr;
  acquire(&end_key_);
  if (code_ && race_checked()) forget_checked_fibers();  // some stopped in the middle
  for (const Piece& piece : old_pieces_) free(memory_checked() ? piece.start() : piece.memory);
  return code_;
}

}  // namespace

// ---- for kernels -------------------------------------------------------------------------------------------------------

// Barriers can be left out one by one: they are known by the address that their call returns to, which tells apart the
// copies of an inlined function.
static bool barrier_is_skipped(const EmuSite* site, void* caller) {
  if (barriers_seen.count((uintptr_t)caller) == 0) barriers_seen.emplace((uintptr_t)caller, site);
  return running->skips((uintptr_t)caller);
}

extern "C" int emu_barrier(const EmuSite* site, int operation, int predicate) {
  if (barrier_is_skipped(site, __builtin_return_address(0))) return 0;
  return running->barrier(site, operation, predicate);
}
extern "C" void emu_warp_barrier(const EmuSite* site, unsigned mask) {
  if (!barrier_is_skipped(site, __builtin_return_address(0))) running->warp_operation(site, mask, true);
}
extern "C" void emu_exchange_at(const EmuSite* site, const void* mine, unsigned bytes, unsigned mask) {
  running->exchange(site, mine, bytes, mask);
}
extern "C" const void* emu_peer(unsigned lane) { return running->peer(lane); }
// Slots alternate only if the whole warp takes part each time; fewer lanes wait for each other once more.
extern "C" void emu_exchanged(const EmuSite* site, unsigned mask) {
  if (mask != ~0u) running->warp_operation(site, mask);
}
extern "C" unsigned emu_ballot(const EmuSite* site, unsigned mask, int predicate) {
  return running->ballot(site, mask, predicate);
}
extern "C" void* emu_shared_array(EmuShared* array, size_t bytes) { return running->shared_array(array, bytes); }
extern "C" void* emu_dynamic(void) { return running->dynamic(); }

// ---- for hosts ---------------------------------------------------------------------------------------------------------

extern "C" int emu_refuse(int code, const char* format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error_text, sizeof error_text, format, list);
  va_end(list);
  return code;
}

extern "C" const char* emu_error(void) { return error_text; }

extern "C" const char* emu_barriers(void) {
  static std::string text;
  text.clear();
  for (const auto& [address, site] : barriers_seen) {
    Dl_info info = {};
    dladdr((void*)address, &info);
    text += std::to_string(address - (uintptr_t)info.dli_fbase) + " " + place(site) + " " + site->what + "\n";
  }
  return text.c_str();
}

extern "C" int emu_run(const EmuKernel* kernel, dim3 grid, dim3 block, size_t shared, void** params,
                       const EmuSettings* settings) {
  const char* const name = kernel->name;
  const uint64_t threads = (uint64_t)block.x * block.y * block.z;
  const std::lock_guard<std::mutex> lock(launching);
  error_text[0] = 0;
  barriers_seen.clear();
  if (!grid.x || !grid.y || !grid.z || !threads)
    return emu_refuse(INVALID_VALUE, "%s: a grid of %u x %u x %u blocks of %u x %u x %u threads, expected at least one of each",
                      name, grid.x, grid.y, grid.z, block.x, block.y, block.z);
  if (threads > MOST_THREADS || block.z > 64 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535)
    return emu_refuse(INVALID_VALUE, "%s: %u x %u x %u blocks of %llu threads, expected at most 2^31 - 1 x 65535 x 65535 of %u",
                      name, grid.x, grid.y, grid.z, (unsigned long long)threads, MOST_THREADS);
  if (kernel->most_threads && threads > kernel->most_threads)
    return emu_refuse(INVALID_VALUE, "%s: %llu threads, but its __launch_bounds__ say %u", name,
                      (unsigned long long)threads, kernel->most_threads);
  if (shared > MOST_SHARED)
    return emu_refuse(INVALID_VALUE, "%s: %zu bytes of dynamic shared memory, expected at most %zu", name, shared, MOST_SHARED);
  Launch launch(kernel, grid, block, shared, params, *settings);
  return launch.run();
}

// Compiled kernels call this where an access is not aligned for its type (-fsanitize=alignment): its data begins with the
// place in the text, as in LLVM's ubsan_handlers.h.
struct UbsanMismatch {
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char log_alignment, kind;
};
extern "C" WEAK void __ubsan_handle_type_mismatch_v1(const UbsanMismatch* data, uintptr_t address) {
  const EmuSite site = {data->file, (int)data->line, ""};
  running->fail(MISALIGNED_ADDRESS, "%s: an access at %p that must start at a multiple of %u bytes", place(&site).c_str(),
                (void*)address, 1u << data->log_alignment);
}
