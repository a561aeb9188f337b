// See variables.h.
#include "variables.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

extern "C" void* __tls_get_addr(size_t*);

namespace morph_cuda::sanitizer {
namespace {

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

constexpr std::string_view kShared = "morph.shared.";  // zones.py
constexpr std::string_view kGuard = "_ZGV";  // the first thread writes one, of a class with a constructor

void add(Variables& into, std::string_view name, const ElfW(Sym)& symbol) {
  Variable found{symbol.st_value, symbol.st_value + symbol.st_size, std::string(name)};
  if (name.starts_with(kGuard)) into.guards.push_back(std::move(found));
  if (!name.starts_with(kShared)) return;
  found.name.erase(0, kShared.size());
  into.shared.push_back(std::move(found));
}

Variables variables_in(const char* library) {  // by their places among all of the library's
  Variables found;
  File file(library);
  if (!file.is_there()) return found;
  const auto* header = file.at<ElfW(Ehdr)>(0);
  const auto* sections = file.at<ElfW(Shdr)>(header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = file.at<char>(sections[sections[i].sh_link].sh_offset);
    const auto* symbols = file.at<ElfW(Sym)>(sections[i].sh_offset);
    for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
      if ((symbols[s].st_info & 0xf) == STT_TLS) add(found, names + symbols[s].st_name, symbols[s]);
  }
  std::sort(found.shared.begin(), found.shared.end(), [](auto& one, auto& other) { return one.start < other.start; });
  return found;
}

const Variables& variables_of(const char* library) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::string, Variables>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = known.find(library);
  return found == known.end() ? known.emplace(library, variables_in(library)).first->second : found->second;
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
    search.found = variables_of(library->dlpi_name);
    search.found.start = reinterpret_cast<uintptr_t>(__tls_get_addr(place));
    search.found.bytes = library->dlpi_phdr[i].p_memsz;
    for (auto* all : {&search.found.shared, &search.found.guards})
      for (Variable& each : *all) each.start += search.found.start, each.end += search.found.start;
  }
  return 1;
}

}  // namespace

bool Variables::is_guard(uintptr_t address) const {
  for (const Variable& each : guards)
    if (address >= each.start && address < each.end) return true;
  return false;
}

const Variable* Variables::around(uintptr_t address) const {
  auto begins_after = [](uintptr_t place, const Variable& each) { return place < each.start; };
  auto next = std::upper_bound(shared.begin(), shared.end(), address, begins_after);
  return next != shared.begin() && address < next[-1].end + kZoneBetween ? &next[-1] : nullptr;
}

const Variable* Variables::before(uintptr_t address, size_t size) const {
  const Variable* each = around(address);
  return each && address + size > each->end ? each : nullptr;
}

Variables variables_beside(uintptr_t kernel) {
  Search search{kernel, {}};
  dl_iterate_phdr(&look, &search);
  return search.found;
}

std::string source_name(const Variable& variable) {
  char* whole = abi::__cxa_demangle(variable.name.c_str(), nullptr, nullptr, nullptr);
  std::string name = whole ? whole : variable.name;
  std::free(whole);
  return name.substr(name.rfind(':') + 1);
}

}  // namespace morph_cuda::sanitizer
