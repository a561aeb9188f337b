// NVTX: ranges and names for NVIDIA's profilers. They do what they do where no profiler listens: nothing.
#pragma once

#include "morph/runtime.h"

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_SUCCESS 0
#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

enum { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum {
  NVTX_MESSAGE_UNKNOWN = 0,
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3,
};
enum {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
  NVTX_PAYLOAD_TYPE_INT32 = 5,
  NVTX_PAYLOAD_TYPE_FLOAT = 6,
};

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st* nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st* nvtxStringHandle_t;
typedef union {
  const char* ascii;
  const wchar_t* unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#define MORPH_NVTX(LETTER, CHARACTER)                                                                                  \
  static inline void nvtxMark##LETTER(const CHARACTER* message) {}                                                     \
  static inline nvtxRangeId_t nvtxRangeStart##LETTER(const CHARACTER* message) { return 0; }                           \
  static inline int nvtxRangePush##LETTER(const CHARACTER* message) { return NVTX_NO_PUSH_POP_TRACKING; }              \
  static inline void nvtxNameCategory##LETTER(uint32_t category, const CHARACTER* name) {}                             \
  static inline void nvtxNameOsThread##LETTER(uint32_t thread, const CHARACTER* name) {}                               \
  static inline nvtxDomainHandle_t nvtxDomainCreate##LETTER(const CHARACTER* name) { return NULL; }                    \
  static inline void nvtxDomainNameCategory##LETTER(nvtxDomainHandle_t domain, uint32_t category,                      \
                                                    const CHARACTER* name) {}                                          \
  static inline nvtxStringHandle_t nvtxDomainRegisterString##LETTER(nvtxDomainHandle_t domain,                         \
                                                                    const CHARACTER* string) {                         \
    return NULL;                                                                                                       \
  }                                                                                                                    \
  static inline void nvtxNameCudaDevice##LETTER(int device, const CHARACTER* name) {}                                  \
  static inline void nvtxNameCudaStream##LETTER(cudaStream_t stream, const CHARACTER* name) {}                         \
  static inline void nvtxNameCudaEvent##LETTER(cudaEvent_t event, const CHARACTER* name) {}
MORPH_NVTX(A, char)
MORPH_NVTX(W, wchar_t)
#undef MORPH_NVTX

static inline void nvtxInitialize(const void* reserved) {}
static inline void nvtxMarkEx(const nvtxEventAttributes_t* event) {}
static inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t* event) { return 0; }
static inline void nvtxRangeEnd(nvtxRangeId_t range) {}
static inline int nvtxRangePushEx(const nvtxEventAttributes_t* event) { return NVTX_NO_PUSH_POP_TRACKING; }
static inline int nvtxRangePop(void) { return NVTX_NO_PUSH_POP_TRACKING; }
static inline void nvtxDomainDestroy(nvtxDomainHandle_t domain) {}
static inline void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {}
static inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return 0;
}
static inline void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range) {}
static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return NVTX_NO_PUSH_POP_TRACKING;
}
static inline int nvtxDomainRangePop(nvtxDomainHandle_t domain) { return NVTX_NO_PUSH_POP_TRACKING; }

#ifdef UNICODE
#define MORPH_NVTX(NAME) NAME##W
#else
#define MORPH_NVTX(NAME) NAME##A
#endif
#define nvtxMark MORPH_NVTX(nvtxMark)
#define nvtxRangeStart MORPH_NVTX(nvtxRangeStart)
#define nvtxRangePush MORPH_NVTX(nvtxRangePush)
#define nvtxNameCategory MORPH_NVTX(nvtxNameCategory)
#define nvtxNameOsThread MORPH_NVTX(nvtxNameOsThread)
#define nvtxDomainCreate MORPH_NVTX(nvtxDomainCreate)
#define nvtxDomainNameCategory MORPH_NVTX(nvtxDomainNameCategory)
#define nvtxDomainRegisterString MORPH_NVTX(nvtxDomainRegisterString)
#define nvtxNameCudaDevice MORPH_NVTX(nvtxNameCudaDevice)
#define nvtxNameCudaStream MORPH_NVTX(nvtxNameCudaStream)
#define nvtxNameCudaEvent MORPH_NVTX(nvtxNameCudaEvent)
