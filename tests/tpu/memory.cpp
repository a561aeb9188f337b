// Counts the bytes of the buffers that PJRT's functions make and destroy, and refuses what is more than a TPU v5e has.

#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

using namespace pjrt;

namespace {

// Google's page on TPU v5e: 16 GB of HBM2 a chip.
constexpr int64_t kLimit = int64_t{16} << 30;
constexpr size_t kAlignment = 4096;

Call own[kFunctions];
// never destroyed: at exit torch_tpu's threads still free buffers
std::mutex& mutex = *new std::mutex;
auto& sizes = *new std::unordered_map<void*, int64_t>;
int64_t in_use, peak, largest, allocations;

struct Exhausted {
  std::string text;
};
auto& errors = *new std::unordered_map<const void*, Exhausted*>;

void* exhausted(int64_t bytes) {
  auto* error = new Exhausted{"RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate " +
                              std::to_string(bytes) + " bytes. That was not possible. There are " +
                              std::to_string(kLimit - in_use) + " bytes free."};
  errors[error] = error;
  return error;
}

// Null where the bytes are there.
void* room_for(int64_t bytes) {
  std::lock_guard lock(mutex);
  return in_use + bytes > kLimit ? exhausted(bytes) : nullptr;
}

Exhausted* own_error(const void* error) {
  std::lock_guard lock(mutex);
  auto found = errors.find(error);
  return found == errors.end() ? nullptr : found->second;
}

void* destroy_error(void* given) {
  auto* arguments = static_cast<Error*>(given);
  Exhausted* error = own_error(arguments->error);
  if (error == nullptr) return own[kDestroyError](given);
  std::lock_guard lock(mutex);
  errors.erase(error);
  delete error;
  return nullptr;
}

void* error_message(void* given) {
  auto* arguments = static_cast<Error*>(given);
  Exhausted* error = own_error(arguments->error);
  if (error == nullptr) return own[kErrorMessage](given);
  arguments->message = {error->text.c_str(), error->text.size()};
  return nullptr;
}

void* error_code(void* given) {
  auto* arguments = static_cast<Error*>(given);
  if (own_error(arguments->error) == nullptr) return own[kErrorCode](given);
  arguments->code = kResourceExhausted;
  return nullptr;
}

void* error_payloads(void* given) {
  return own_error(static_cast<Error*>(given)->error) == nullptr ? own[kErrorPayloads](given) : nullptr;
}

void add(void* buffer) {
  Buffer asked{{sizeof(Buffer)}, buffer, 0};
  if (own[kBufferSize](&asked) != nullptr) std::abort();
  auto bytes = static_cast<int64_t>(asked.size);
  std::lock_guard lock(mutex);
  if (!sizes.emplace(buffer, bytes).second) return;
  ++allocations;
  peak = std::max(peak, in_use += bytes);
  largest = std::max(largest, bytes);
}

void* destroy_buffer(void* given) {
  {
    std::lock_guard lock(mutex);
    auto found = sizes.find(static_cast<Buffer*>(given)->buffer);
    if (found != sizes.end()) {
      in_use -= found->second;
      sizes.erase(found);
    }
  }
  return own[kDestroyBuffer](given);
}

template <typename Arguments, Function kFunction>
void* make_buffer(void* given) {
  void* error = own[kFunction](given);
  if (error == nullptr) add(static_cast<Arguments*>(given)->buffer);
  return error;
}

void* executable_of(void* loaded) {
  LoadedExecutable asked{{sizeof(LoadedExecutable)}, loaded, nullptr};
  if (own[kGetExecutable](&asked) != nullptr) std::abort();
  return asked.executable;
}

void* execute(void* given) {
  auto* execution = static_cast<Execution*>(given);
  void* executable = executable_of(execution->loaded);
  CompiledMemory memory{};
  memory.struct_size = sizeof memory;
  memory.executable = executable;
  if (own[kCompiledMemory](&memory) != nullptr) std::abort();
  if (void* error = room_for(memory.outputs - memory.aliases)) return error;
  if (void* error = own[kExecute](given)) return error;
  OutputCount outputs{{sizeof(OutputCount)}, executable, 0};
  if (own[kNumberOfOutputs](&outputs) != nullptr) std::abort();
  for (size_t i = 0; i < outputs.number; ++i) add(execution->outputs[0][i]);
  return nullptr;
}

void* memory_statistics(void* given) {
  auto* figures = static_cast<MemoryStatistics*>(given);
  std::lock_guard lock(mutex);
  figures->in_use = in_use;
  figures->peak = {peak, true};
  figures->allocations = {allocations, true};
  figures->largest = {largest, true};
  figures->limit = {kLimit, true};
  figures->reserved = figures->peak_reserved = {0, true};
  figures->peak_with_reserved = {peak, true};
  figures->reservable = figures->largest_free = figures->pool = figures->peak_pool = {0, false};
  return nullptr;
}

void* clear_memory_statistics(void*) {
  std::lock_guard lock(mutex);
  peak = in_use;
  return nullptr;
}

void* allocate_host_memory(HostMemory* asked) {
  asked->memory = std::aligned_alloc(kAlignment, (asked->size + kAlignment - 1) / kAlignment * kAlignment);
  asked->free = [](void* memory, void*) { std::free(memory); };
  asked->free_argument = nullptr;
  return nullptr;
}

}  // namespace

void count_memory(Api& api) {
  std::copy(std::begin(api.functions), std::end(api.functions), own);
  const std::pair<Function, Call> changed[] = {
      {kDestroyError, destroy_error},
      {kErrorMessage, error_message},
      {kErrorCode, error_code},
      {kErrorPayloads, error_payloads},
      {kBufferFromHost, make_buffer<BufferFromHost, kBufferFromHost>},
      {kUninitializedBuffer, make_buffer<UninitializedBuffer, kUninitializedBuffer>},
      {kRetrieveBuffer, make_buffer<RetrievedBuffer, kRetrieveBuffer>},
      {kCopyToDevice, make_buffer<CopiedBuffer, kCopyToDevice>},
      {kCopyToMemory, make_buffer<CopiedBuffer, kCopyToMemory>},
      {kExecute, execute},
      {kDestroyBuffer, destroy_buffer},
      {kMemoryStatistics, memory_statistics},
      {kClearMemoryStatistics, clear_memory_statistics},
  };
  for (auto [function, call] : changed) api.functions[function] = call;
  static HostMemoryAllocator pinned;
  pinned = {{sizeof(HostMemoryAllocator), kHostMemoryAllocator, api.extensions}, allocate_host_memory};
  api.extensions = &pinned;
}
