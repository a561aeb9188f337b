// See free_blocks.h.
#include "memory/free_blocks.h"

#include <bit>

namespace software {
namespace {

void set(uint64_t& word, size_t bit) { word |= uint64_t(1) << bit; }
void clear(uint64_t& word, size_t bit) { word &= ~(uint64_t(1) << bit); }
uint64_t from(uint64_t word, size_t bit) { return bit < 64 ? word >> bit << bit : 0; }

}  // namespace

void FreeBlocks::insert(Block* block) {
  if (large_) {
    ordered_.insert(block);
    return;
  }
  size_t index = block->size / kUnit;
  Block*& latest = lists_[index];
  block->older = latest;
  block->newer = nullptr;
  if (latest) latest->newer = block;
  latest = block;
  set(filled_[index / 64], index % 64);
  set(filled_words_[index / 64 / 64], index / 64 % 64);
}

void FreeBlocks::erase(Block* block) {
  if (large_) {
    ordered_.erase(block);
    return;
  }
  size_t index = block->size / kUnit;
  if (block->older) block->older->newer = block->newer;
  if (block->newer) {
    block->newer->older = block->older;
    return;
  }
  lists_[index] = block->older;
  if (lists_[index]) return;
  clear(filled_[index / 64], index % 64);
  if (!filled_[index / 64]) clear(filled_words_[index / 64 / 64], index / 64 % 64);
}

size_t FreeBlocks::first_list(size_t start) const {
  size_t word = start / 64;
  if (word < kWords)
    if (uint64_t here = from(filled_[word], start % 64)) return word * 64 + size_t(std::countr_zero(here));
  for (size_t group = (word + 1) / 64; group < filled_words_.size(); group++) {
    uint64_t words = from(filled_words_[group], group == (word + 1) / 64 ? (word + 1) % 64 : 0);
    if (!words) continue;
    word = group * 64 + size_t(std::countr_zero(words));
    return word * 64 + size_t(std::countr_zero(filled_[word]));
  }
  return kLists;
}

Block* FreeBlocks::take(size_t size) {
  Block* block = nullptr;
  if (large_) {
    Block wanted{nullptr, nullptr, size};
    auto found = ordered_.lower_bound(&wanted);
    if (found != ordered_.end()) block = *found;
  } else {
    size_t index = first_list(size / kUnit);
    if (index < kLists) block = lists_[index];
  }
  if (block) erase(block);
  return block;
}

std::vector<Block*> FreeBlocks::whole_segments() const {
  std::vector<Block*> whole;
  auto consider = [&](Block* block) {
    if (!block->before && !block->after) whole.push_back(block);
  };
  for (Block* block : ordered_) consider(block);
  for (Block* latest : lists_)
    for (Block* block = latest; block; block = block->older) consider(block);
  return whole;
}

}  // namespace software
