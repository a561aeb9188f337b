// See variables.h.
#include "variables.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>

extern "C" void* __tls_get_addr(size_t*);

namespace morph_cuda::sanitizer {
namespace {

using Ranges = std::vector<std::pair<uintptr_t, uintptr_t>>;

class File {  // its contents, mapped
 public:
  explicit File(const char* name) {
    int file = open(name, O_RDONLY | O_CLOEXEC);
    struct stat found {};
    if (file >= 0 && fstat(file, &found) == 0) size_ = size_t(found.st_size);
    if (size_) start_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0) close(file);
  }
  ~File() {
    if (is_there()) munmap(start_, size_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_there() const { return size_ && start_ != MAP_FAILED; }
  template <class T>
  const T* at(size_t offset) const {
    return reinterpret_cast<const T*>(static_cast<const char*>(start_) + offset);
  }

 private:
  void* start_ = MAP_FAILED;
  size_t size_ = 0;
};

// g++ guards an array of a class that has another constructor than the trivial one. The first thread writes the guard.
Ranges guards_in(const char* name) {
  Ranges found;
  File file(name);
  if (!file.is_there()) return found;
  const auto* header = file.at<ElfW(Ehdr)>(0);
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = file.at<char>(sections[sections[i].sh_link].sh_offset);
    const auto* symbols = file.at<ElfW(Sym)>(sections[i].sh_offset);
    for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
      if ((symbols[s].st_info & 0xf) == STT_TLS && !std::strncmp(names + symbols[s].st_name, "_ZGV", 4))
        found.emplace_back(symbols[s].st_value, symbols[s].st_value + symbols[s].st_size);
  }
  return found;
}

const Ranges& guards_of(const char* name) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, Ranges>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known.find(name);
  return found == known.end() ? known.emplace(name, guards_in(name)).first->second : found->second;
}

struct Search {
  uintptr_t kernel;
  Variables found;
};

bool holds(const dl_phdr_info* library, uintptr_t address) {
  for (int i = 0; i < library->dlpi_phnum; i++) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && address - library->dlpi_addr - part.p_vaddr < part.p_memsz) return true;
  }
  return false;
}

int look(dl_phdr_info* library, size_t, void* into) {
  auto& search = *static_cast<Search*>(into);
  if (!holds(library, search.kernel)) return 0;
  for (int i = 0; i < library->dlpi_phnum; i++) {
    if (library->dlpi_phdr[i].p_type != PT_TLS) continue;
    size_t place[2] = {library->dlpi_tls_modid, 0};
    search.found.start = reinterpret_cast<uintptr_t>(__tls_get_addr(place));
    search.found.bytes = library->dlpi_phdr[i].p_memsz;
    for (auto [from, to] : guards_of(library->dlpi_name))
      search.found.guards.emplace_back(search.found.start + from, search.found.start + to);
  }
  return 1;
}

}  // namespace

bool Variables::is_guard(uintptr_t address) const {
  for (auto [from, to] : guards)
    if (address >= from && address < to) return true;
  return false;
}

Variables variables_beside(uintptr_t kernel) {
  Search search{kernel, {}};
  dl_iterate_phdr(&look, &search);
  return search.found;
}

}  // namespace morph_cuda::sanitizer
