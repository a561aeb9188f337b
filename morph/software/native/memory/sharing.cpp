// Storages shared with other processes, which map the memory file of the process that owns them. As with CUDA, the
// memory of a sent storage is not reused before every receiver has released it.
#include "device/device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>

namespace software {
namespace {

using Counter = std::atomic<int64_t>;
constexpr size_t kPage = 4096, kCounters = 256 * kPage / sizeof(Counter);

void* map_file(int file, size_t offset, size_t bytes) {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(offset));
  TORCH_CHECK(start != MAP_FAILED, "the memory of another process cannot be mapped");
  return start;
}

class OfProcess {  // a file that another process has open
 public:
  OfProcess(int process, int file) {
    auto path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file);
    descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    TORCH_CHECK(descriptor_ >= 0, "the process that shared this tensor is gone");
  }
  ~OfProcess() { close(descriptor_); }
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;
  void* map(size_t offset, size_t bytes) const { return map_file(descriptor_, offset, bytes); }

 private:
  int descriptor_;
};

// Counts the receivers of each storage of this process; each receiver decrements its counter in the file.
class Counters {
 public:
  static Counters& own() {  // never destroyed: storages outlive static destruction
    static auto& only = *new Counters;
    return only;
  }
  size_t take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) {
      TORCH_CHECK(used_ < kCounters, "more than ", kCounters, " storages are in the hands of other processes");
      return used_++;
    }
    size_t index = *free_.begin();
    free_.erase(free_.begin());
    return index;
  }
  void give_back(size_t index) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.insert(index);
  }
  Counter& at(size_t index) { return all_[index]; }
  int file() const { return file_; }

 private:
  Counters() {
    file_ = memfd_create("software device's receivers", MFD_CLOEXEC);
    TORCH_CHECK(file_ >= 0 && ftruncate(file_, kCounters * sizeof(Counter)) == 0, "no memory file for the receivers");
    all_ = static_cast<Counter*>(map_file(file_, 0, kCounters * sizeof(Counter)));
  }
  std::mutex mutex_;
  int file_;
  Counter* all_;
  size_t used_ = 0;
  std::set<size_t> free_;
};

struct Sent {
  c10::DataPtr memory;
  size_t counter = Counters::own().take();
  ~Sent() { Counters::own().give_back(counter); }
  bool received() const { return Counters::own().at(counter) > 0; }
};

std::mutex limbo_mutex;
std::set<Sent*>& limbo = *new std::set<Sent*>;  // sent storages that this process has freed

void release_sent(void* context) {
  auto* sent = static_cast<Sent*>(context);
  if (!sent->received()) return delete sent;
  std::lock_guard<std::mutex> lock(limbo_mutex);
  limbo.insert(sent);
}

Sent& sent(const c10::Storage& storage) {
  auto* impl = storage.unsafeGetStorageImpl();
  c10::DataPtr& data = impl->_mutable_data_ptr_no_checks();
  if (data.get_deleter() != &release_sent) {
    auto made = std::make_unique<Sent>();
    Counters::own().at(made->counter) = 0;
    made->memory = std::move(data);
    void* start = made->memory.get();
    auto device = made->memory.device();
    data = c10::DataPtr(start, made.release(), &release_sent, device);
  }
  return *static_cast<Sent*>(data.get_context());
}

// One storage of another process.
struct Received {
  void *start, *page;
  size_t bytes;
  Counter* counter;
};

void release_received(void* context) {
  std::unique_ptr<Received> received(static_cast<Received*>(context));
  munmap(received->start, received->bytes);
  --*received->counter;
  munmap(received->page, kPage);
}

std::pair<void*, Counter*> map_counter(int process, int counters, size_t counter) {
  size_t byte = counter * sizeof(Counter), page = byte / kPage * kPage;
  auto* start = static_cast<char*>(OfProcess(process, counters).map(page, kPage));
  return {start, reinterpret_cast<Counter*>(start + (byte - page))};
}

}  // namespace

Shared share_storage(const c10::Storage& storage) {
  TORCH_CHECK(!storage.unsafeGetStorageImpl()->received_cuda(), "Attempted to send ", settings().title,
              " tensor received from another process; this is not currently supported. Consider cloning before sending.");
  collect_shared();
  auto [file, segment, offset] = place_in_file(storage.data());
  size_t counter = sent(storage).counter;
  ++Counters::own().at(counter);
  return {file, segment, offset, Counters::own().file(), counter};
}

c10::Storage open_shared_storage(int process, const Shared& place, size_t bytes, c10::DeviceIndex index) {
  initialize();
  auto [page, counter] = map_counter(process, place.counters, place.counter);
  size_t mapped = place.offset + bytes;
  auto* start = static_cast<char*>(OfProcess(process, place.file).map(place.segment, mapped));
  c10::DataPtr data(start + place.offset, new Received{start, page, mapped, counter}, &release_received,
                    device(checked(index)));
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, std::move(data), nullptr, false);
  storage.unsafeGetStorageImpl()->set_received_cuda(true);
  return storage;
}

void let_go_of_shared(int process, int counters, size_t counter) {
  auto [page, own] = map_counter(process, counters, counter);
  --*own;
  munmap(page, kPage);
}

void collect_shared() {
  std::vector<std::unique_ptr<Sent>> free;  // after the lock
  std::lock_guard<std::mutex> lock(limbo_mutex);
  for (auto it = limbo.begin(); it != limbo.end();) {
    if ((*it)->received()) { ++it; continue; }
    free.emplace_back(*it);
    it = limbo.erase(it);
  }
}

}  // namespace software
