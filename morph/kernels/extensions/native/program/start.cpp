// Where a program that morph's nvcc has linked begins. Its file is a shared library that names no loader, so that the
// system starts it here, with nothing relocated: it becomes the Python which built it, and that has the software device,
// loads the file, and calls its `main` (../../programs.py). nvcc compiles this for each program.
namespace {

#if defined(__x86_64__)
constexpr long kWrite = 1, kExecute = 59, kExit = 231;
inline long call(long number, long a, long b, long c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
#define MORPH_ENTRY "xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call morph_begin\n"
#elif defined(__aarch64__)
constexpr long kWrite = 64, kExecute = 221, kExit = 94;
inline long call(long number, long a, long b, long c) {
  register long x8 asm("x8") = number, x0 asm("x0") = a, x1 asm("x1") = b, x2 asm("x2") = c;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
#define MORPH_ENTRY "mov x0, sp\n bl morph_begin\n"
#else
#error "morph: a program cannot be linked for this processor; build a library, and load it from Python"
#endif

inline void say(const char* text) {
  long size = 0;
  while (text[size]) size++;
  call(kWrite, 2, reinterpret_cast<long>(text), size);
}

// The value of a variable of this name, which ends in =.
inline const char* variable(char** environment, const char* name) {
  for (; *environment; environment++) {
    const char *at = *environment, *wanted = name;
    while (*wanted && *at == *wanted) at++, wanted++;
    if (!*wanted && *at) return at;
  }
  return nullptr;
}

}  // namespace

asm(".pushsection .text\n.globl morph_start\n.type morph_start, %function\nmorph_start:\n" MORPH_ENTRY ".popsection\n");

// The arguments, the environment and the kernel's own words lie above the stack.
extern "C" [[noreturn, gnu::used, gnu::visibility("hidden")]] void morph_begin(long* stack) {
  constexpr long kOtherRights = 23, kFile = 31;  // AT_SECURE, AT_EXECFN
  long count = *stack;
  char** arguments = reinterpret_cast<char**>(stack + 1);
  char** environment = arguments + count + 1;
  char** end = environment;
  while (*end) end++;
  const char *python = variable(environment, "MORPH_PYTHON="), *file = arguments[0];
  for (long* word = reinterpret_cast<long*>(end + 1); *word; word += 2) {
    if (*word == kFile) file = reinterpret_cast<const char*>(word[1]);
    if (*word == kOtherRights && word[1]) python = nullptr;
  }
  if (!python) python = MORPH_PYTHON;
  const char* words[count + 5];
  long n = 0;
  words[n++] = python, words[n++] = "-c", words[n++] = MORPH_CODE, words[n++] = file;
  for (long i = 1; i < count; i++) words[n++] = arguments[i];
  words[n] = nullptr;
  call(kExecute, reinterpret_cast<long>(python), reinterpret_cast<long>(words), reinterpret_cast<long>(environment));
  say(file), say(": morph's Python does not start: "), say(python), say("; MORPH_PYTHON names another\n");
  for (;;) call(kExit, 127, 0, 0);
}

// In Python: before the program's own constructors, errors become those of a program.
extern "C" void morph_begin_program();
[[gnu::constructor(101)]] static void begin() { morph_begin_program(); }

// `main`, whatever its parameters and its visibility are.
extern "C" int morph_main(int, char**, char**) asm("main");
extern "C" [[gnu::visibility("default")]] int morph_program(int count, char** arguments, char** environment) {
  return morph_main(count, arguments, environment);
}
