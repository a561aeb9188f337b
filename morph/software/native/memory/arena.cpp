// See arena.h.
#include "memory/arena.h"

#include "memory/addresses.h"
#include "memory/hidden.h"
#include "device/activities.h"
#include "device/captures.h"
#include "device/errors.h"
#include "device/order.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace software {
namespace {

constexpr size_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
// The sizes of c10's CUDA allocator, which the vendors' allocators copied.
constexpr size_t kRound = 512, kSmall = MiB, kLarge = 10 * MiB;
constexpr size_t kSmallSegment = 2 * MiB, kMiddleSegment = 20 * MiB, kLargeRound = 2 * MiB;
// A step of a small program stays in the processor's cache so.
constexpr size_t kKeptBlocks = 16, kKeptIfFew = 32;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

size_t segment_size(size_t block) {
  if (block <= kSmall) return kSmallSegment;
  return block < kLarge ? kMiddleSegment : rounded(block, kLargeRound);
}

std::string readable(size_t bytes) {
  char text[32];
  if (bytes <= MiB) std::snprintf(text, sizeof text, "%zu bytes", bytes);
  else if (bytes <= GiB) std::snprintf(text, sizeof text, "%.2f MiB", double(bytes) / MiB);
  else std::snprintf(text, sizeof text, "%.2f GiB", double(bytes) / GiB);
  return text;
}

}  // namespace

Block* Arena::take(size_t requested, c10::StreamId stream, MempoolId_t pool) {
  std::lock_guard lock(lock_);
  size_t size = rounded_as_set(requested + settings().padding, kRound);
  Block* block = cached(size, stream, pool);
  if (!block && !kept_.empty() && !fits(segment_size(size))) {
    free_kept();
    block = cached(size, stream, pool);
  }
  if (!block) block = grow(size, stream, pool);
  split(block, size);
  make_used(block, requested);
  figures_.settle(block->segment->large);
  return block;
}

void Arena::refuse_on_purpose(size_t requested) {
  std::lock_guard lock(lock_);
  release_for_retry();
  refuse(rounded_as_set(requested + settings().padding, kRound));
}

void Arena::give_back(Segment* segment, void* pointer) {
  bool keeps = most_kept && segment->pool == MempoolId_t{0, 0};
  Line line = keeps ? current_line() : Line{};
  std::lock_guard lock(lock_);
  Block* block = segment->block_at(pointer);
  keeps ? keep(block, line) : make_free(block);
  figures_.settle(segment->large);
}

void Arena::let_wait(Block* block) {
  std::lock_guard lock(lock_);
  stop_counting(block);
  figures_.settle(block->segment->large);
  block->awaited = true;
}

void Arena::make_used(Block* block, size_t requested) {
  note("alloc", block->start, requested, block->segment->stream, block->segment->pool);
  block->used = true;
  block->requested = requested;
  count_allocated(block, +1);
  count_active(block, +1);
}

void Arena::stop_counting(Block* block) {
  count_allocated(block, -1);
  note("free_requested", block->start, block->requested, block->segment->stream, block->segment->pool);
}

void Arena::make_free(Block* block) {
  if (!block->awaited) stop_counting(block);
  count_active(block, -1);
  note("free_completed", block->start, block->requested, block->segment->stream, block->segment->pool);
  block->used = block->awaited = false;
  if (Block* left = block->before; left && !left->used) block = join(left, block, left);
  if (Block* right = block->after; right && !right->used) block = join(block, right, right);
  make_cached(block);
}

void Arena::keep(Block* block, Line line) {
  if (!std::exchange(block->awaited, true)) stop_counting(block);
  figures_.settle(block->segment->large);
  block->kept = true;
  kept_.push_back({block, line});
  kept_bytes_ += block->size;
  bool are_many = kept_.size() > kKeptBlocks;
  free_kept(are_many ? most_kept : most_kept * kKeptIfFew);
}

void Arena::free_kept(size_t most) {
  while (kept_bytes_ > most) {
    Block* block = kept_.front().block;
    kept_.pop_front();
    kept_bytes_ -= block->size;
    block->kept = false;
    bool large = block->segment->large;
    make_free(block);
    figures_.settle(large);
  }
}

std::string Arena::line_of_free(const void* block) {
  std::lock_guard lock(lock_);
  for (const Kept& each : kept_)
    if (each.block->start == block && each.line.code) return text_of(each.line);
  return "";
}

void Arena::make_cached(Block* block) {
  block->segment->free->insert(block);
  if (block->before || block->after) count_inactive(block, +1);
}

void Arena::release_cached() {
  std::lock_guard lock(lock_);
  releases_++;
  free_kept();
  release_unused_segments();
}

FreeBlocks& Arena::free(const Segment& segment) {
  for (auto& each : free_)
    if (each->serves(segment.large, segment.stream, segment.pool)) return *each;
  return *free_.emplace_back(std::make_unique<FreeBlocks>(segment.large, segment.stream, segment.pool));
}

Block* Arena::cached(size_t size, c10::StreamId stream, MempoolId_t pool) {
  for (auto& each : free_)
    if (each->serves(size > kSmall, stream, pool)) {
      Block* block = each->take(size);
      if (block && (block->before || block->after)) count_inactive(block, -1);
      return block;
    }
  return nullptr;
}

char* Arena::map(size_t bytes) {
  char* start = ftruncate(file(), off_t(end_ + bytes)) == 0 ? aligned_addresses(bytes) : nullptr;
  if (!start) return nullptr;
  int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
  if (mmap(start, bytes, PROT_READ | PROT_WRITE, flags, file(), off_t(end_)) == MAP_FAILED) {
    munmap(start, bytes);
    return nullptr;
  }
  end_ += bytes;
  return start;
}

Block* Arena::grow(size_t size, c10::StreamId stream, MempoolId_t pool) {
  // Up to 512 bytes may be for a number of the program's, for which the CPU's kernels take memory and CUDA's do not.
  if (size > kRound && !is_capturing(current_stream(current_device()))) refuse_unsafe_call();
  RecordedCall recorded("cudaMalloc");
  size_t bytes = segment_size(size), offset = end_;
  char* start = fits(bytes) ? map(bytes) : nullptr;
  if (!start) {
    release_for_retry();
    start = fits(bytes) ? map(bytes) : nullptr;
  }
  if (!start) refuse(size);
  auto segment = std::make_unique<Segment>(Segment{device_, start, bytes, offset, stream, pool, size > kSmall});
  segment->free = &free(*segment);
  segment->blocks.resize(bytes / segment->unit());
  counts_.num_device_alloc++;
  count_segment(*segment, +1);
  note("segment_alloc", start, bytes, stream, pool);
  enter(start, bytes, segment.get());
  if (hides_memory()) map_hidden(*segment, file());
  Block* block = segment->block_at(start) = make_block(segment.get(), start, bytes);
  segments_.emplace(start, std::move(segment));
  return block;
}

void Arena::split(Block* block, size_t size) {
  size_t rest = block->size - size;
  if (block->segment->large ? rest <= kSmall : rest < kRound) return;
  Block* right = make_block(block->segment, block->start + size, rest);
  right->before = block;
  right->after = block->after;
  if (right->after) right->after->before = right;
  block->after = right;
  block->size = size;
  block->segment->block_at(right->start) = right;
  block->segment->free->insert(right);
  count_inactive(right, +1);
}

// One of the two is free already, the other is being freed.
Block* Arena::join(Block* left, Block* right, Block* free) {
  free->segment->free->erase(free);
  count_inactive(free, -1);
  left->size += right->size;
  left->after = right->after;
  if (left->after) left->after->before = left;
  right->segment->block_at(right->start) = nullptr;
  forget(right);
  return left;
}

int64_t Arena::releases() {
  std::lock_guard lock(lock_);
  return releases_;
}

void Arena::release_for_retry() {
  counts_.num_alloc_retries++;
  releases_++;
  free_kept();
  release_unused_segments();
}

void Arena::release_unused_segments() {
  for (auto& blocks : free_)
    for (Block* block : blocks->whole_segments())
      if (!holders_.count(block->segment->pool)) {
        blocks->erase(block);
        release(block);
      }
}

void Arena::release(Block* block) {
  RecordedCall recorded("cudaFree");
  Segment* segment = block->segment;
  if (is_order_watched()) wait_for_work_of(device_), forget_memory(segment->start, segment->size);
  count_segment(*segment, -1);
  note("segment_free", segment->start, segment->size, segment->stream, segment->pool);
  counts_.num_device_free++;
  if (hides_memory()) unmap_hidden(*segment);
  enter(segment->start, segment->size, nullptr);
  munmap(segment->start, segment->size);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(segment->offset), off_t(segment->size));
  segments_.erase(segment->start);
  forget(block);
}

Block* Arena::make_block(Segment* segment, char* start, size_t size) {
  if (!spare_) return new Block{segment, start, size};
  Block* block = std::exchange(spare_, spare_->older);
  *block = {segment, start, size};
  return block;
}

void Arena::forget(Block* block) {
  block->older = std::exchange(spare_, block);
}

// Addresses are taken by granules, of which the file holds only the pages that are written.
void* Arena::take_outside(size_t bytes, bool torchs) {
  std::lock_guard lock(lock_);
  size_t size = rounded(std::max(bytes, size_t(1)), kRound), offset = end_;
  char* start = size <= left() ? map(rounded(size, kGranule)) : nullptr;
  if (!start) return nullptr;
  auto segment = std::make_unique<Segment>(Segment{device_, start, size, offset, 0, {0, 0}, true});
  segment->is_uncached = torchs, segment->requested = bytes;
  outside_bytes_ += size;
  if (are_peaks_watched()) peaks_.reserve(int64_t(size));
  enter(start, rounded(size, kGranule), segment.get());
  if (hides_memory()) map_hidden(*segment, file());
  outside_.emplace(start, std::move(segment));
  return start;
}

bool Arena::give_back_outside(Segment* segment) {
  std::lock_guard lock(lock_);
  auto found = outside_.find(segment->start);
  if (found == outside_.end()) return false;
  size_t bytes = rounded(segment->size, kGranule);
  if (is_order_watched()) wait_for_work_of(device_), forget_memory(segment->start, bytes);
  if (hides_memory()) unmap_hidden(*segment);
  enter(segment->start, bytes, nullptr);
  munmap(segment->start, bytes);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(segment->offset), off_t(bytes));
  outside_bytes_ -= segment->size;
  if (are_peaks_watched()) peaks_.reserve(-int64_t(segment->size));
  outside_.erase(found);
  return true;
}

size_t Arena::available() {
  std::lock_guard lock(lock_);
  return left();
}

size_t Arena::reserved() const { return size_t(of_segments_.current(Figure::kReservedBytes)); }

size_t Arena::left() const { return usable_memory() - reserved() - outside_bytes_; }

bool Arena::fits(size_t bytes) const {
  return bytes <= left() && reserved() + bytes <= size_t(double(settings().memory) * fraction);
}

void Arena::refuse_as_torch(size_t size) {
  size_t total = settings().memory, allocated = size_t(figures_.current(Figure::kAllocatedBytes));
  if (settings().type == c10::DeviceType::CUDA)
    refuse_memory({device_, segment_size(size), total, left(), size_t(double(total) * fraction), reserved(),
                   allocated});
  C10_THROW_ERROR(
      OutOfMemoryError,
      c10::str(settings().title, " out of memory. Tried to allocate ", readable(size), ". GPU ", int(device_),
               " has a total capacity of ", readable(total), " of which ", readable(left()),
               " is free. Of the allocated memory ", readable(allocated), " is allocated by PyTorch, and ",
               readable(reserved() - allocated),
               " is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached "
               "memory."));
}

void Arena::refuse(size_t size) {
  counts_.num_ooms++;
  note("oom", reinterpret_cast<void*>(left()), size, 0);
  if (known_to_torch()) refuse_as_torch(size);
  const std::string& title = settings().title;
  C10_THROW_ERROR(
      OutOfMemoryError,
      c10::str(title, " out of memory. Tried to allocate ", readable(size), " (", title, " ", int(device_), "; ",
               readable(settings().memory), " total capacity; ",
               readable(size_t(figures_.current(Figure::kAllocatedBytes))), " already allocated; ", readable(size_t(figures_.current(Figure::kAllocatedBytes))), " current active; ",
               readable(left()), " free; ", readable(reserved()),
               " reserved in total by PyTorch). If reserved memory is >> allocated memory try setting "
               "max_split_size_mb to avoid fragmentation."));
}

void Arena::list(std::vector<SegmentView>& into) {
  std::lock_guard lock(lock_);
  for (auto& [start, segment] : segments_) {
    SegmentView view{device_, size_t(start), segment->size, segment->stream, segment->pool, segment->large, {}};
    for (Block* block = segment->block_at(start); block; block = block->after)
      view.blocks.push_back({size_t(block->start), block->size, block->requested, block->used, block->awaited});
    into.push_back(std::move(view));
  }
}

void Arena::hold(MempoolId_t pool) {
  std::lock_guard lock(lock_);
  holders_[pool]++;
}

void Arena::let_go(MempoolId_t pool) {
  std::lock_guard lock(lock_);
  auto found = holders_.find(pool);
  if (found != holders_.end() && --found->second == 0) holders_.erase(found);
}

int Arena::holders(MempoolId_t pool) {
  std::lock_guard lock(lock_);
  auto found = holders_.find(pool);
  return found == holders_.end() ? 0 : found->second;
}

int Arena::file() {
  if (file_ < 0) {  // monitors read its name
    std::string name = "software device " + std::to_string(settings().numbers.at(size_t(device_)));
    file_ = memfd_create(name.c_str(), MFD_CLOEXEC);
  }
  TORCH_CHECK(file_ >= 0, "no memory file for the software device");
  return file_;
}

}  // namespace software
