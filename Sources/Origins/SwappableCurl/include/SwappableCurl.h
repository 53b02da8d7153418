#pragma once

// The part of libcurl that this package uses. `.ci/headers.c` compares it with the library's own header, whose types
// replace the types below if it is included before.

#include <stddef.h>

#pragma clang diagnostic ignored "-Wnullability-completeness"

/// The beginning of a `CURLMsg`.
typedef struct {
  int kind;
  void *easy;
  union {
    void *whatever;
    int result;
  };
} CurlMessage;

/// The beginning of a `struct curl_sockaddr`.
typedef struct {
  int family;
  int type;
  int protocol;
} CurlAddress;

#ifndef CURLINC_CURL_H
typedef struct CURL CURL;
typedef struct CURLM CURLM;
typedef CurlMessage CURLMsg;
typedef int CURLcode;
typedef int CURLMcode;
typedef int CURLoption;
#endif

/// Functions: a short name, the name in the library after `curl_`, the type of the result, and the parameters.
#define SWAPPABLE_CURL_FUNCTIONS(F) \
  F(globalInit, global_init, CURLcode, (long)) \
  F(easyInit, easy_init, CURL *, (void)) \
  F(easyCleanup, easy_cleanup, void, (CURL *)) \
  F(easyError, easy_strerror, const char *, (CURLcode)) \
  F(easySet, easy_setopt, CURLcode, (CURL *, CURLoption, ...)) \
  F(append, slist_append, struct curl_slist *, (struct curl_slist *, const char *)) \
  F(freeAll, slist_free_all, void, (struct curl_slist *)) \
  F(multiInit, multi_init, CURLM *, (void)) \
  F(multiCleanup, multi_cleanup, CURLMcode, (CURLM *)) \
  F(addHandle, multi_add_handle, CURLMcode, (CURLM *, CURL *)) \
  F(removeHandle, multi_remove_handle, CURLMcode, (CURLM *, CURL *)) \
  F(perform, multi_perform, CURLMcode, (CURLM *, int *)) \
  F(poll, multi_poll, CURLMcode, \
    (CURLM *, struct curl_waitfd *, unsigned int, int, int *)) \
  F(wakeup, multi_wakeup, CURLMcode, (CURLM *)) \
  F(infoRead, multi_info_read, CURLMsg *, (CURLM *, int *))

/// Options: a name, and its number.
#define SWAPPABLE_CURL_OPTIONS(O) \
  O(NOSIGNAL, 99) \
  O(SUPPRESS_CONNECT_HEADERS, 265) \
  O(WRITEDATA, 10001) \
  O(URL, 10002) \
  O(ERRORBUFFER, 10010) \
  O(HTTPHEADER, 10023) \
  O(HEADERDATA, 10029) \
  O(OPENSOCKETDATA, 10164) \
  O(WRITEFUNCTION, 20011) \
  O(HEADERFUNCTION, 20079) \
  O(OPENSOCKETFUNCTION, 20163)

struct curl_slist;
struct curl_waitfd;

/// The functions of a library that is loaded at run time.
typedef struct __attribute__((swift_attr("@Sendable"))) {
#define MEMBER(name, symbol, type, parameters) type(*_Nonnull name) parameters;
  SWAPPABLE_CURL_FUNCTIONS(MEMBER)
#undef MEMBER
} CurlFunctions;

#pragma clang assume_nonnull begin

/// The functions that receive an answer and create its socket, their context, and the buffer of the last error.
typedef struct {
  void *context;
  char *_Nullable error;
  int (*makeSocket)(void *context, int purpose, CurlAddress *address);
  size_t (*receiveHead)(char *bytes, size_t size, size_t count, void *context);
  size_t (*receiveBody)(char *bytes, size_t size, size_t count, void *context);
} CurlReceiver;

#pragma clang assume_nonnull end

/// Finds the functions, or sets the name of one that is missing. Then the functions must not be called.
CurlFunctions swappable_curl_load(void *library, const char **missing);

/// Sets the options of a request.
void swappable_curl_set(
  CurlFunctions curl, CURL *easy, const char *url, struct curl_slist *headers,
  CurlReceiver receiver);
