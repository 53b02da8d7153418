// Compares what the modules `SwappableCurl` and `SwappablePQ` declare with the headers of the libraries. `.ci/run`
// checks the syntax and the assertions of this file.

#include <curl/curl.h>
#include <libpq-fe.h>
#include <stddef.h>

#include "SwappableCurl.h"
#include "SwappablePQ.h"

#define HAS_TYPE(function, type, parameters) \
  _Static_assert( \
    __builtin_types_compatible_p(__typeof__(&function), type(*) parameters), \
    #function " has other parameters, or another result");
#define HAS_OFFSET(ours, our_field, theirs, their_field) \
  _Static_assert( \
    offsetof(ours, our_field) == offsetof(theirs, their_field) && \
      sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), \
    #theirs "." #their_field " has another place or size");

// libcurl
#define CURL_FUNCTION(name, symbol, type, parameters) HAS_TYPE(curl_##symbol, type, parameters)
SWAPPABLE_CURL_FUNCTIONS(CURL_FUNCTION)
#define CURL_OPTION(name, number) \
  _Static_assert(CURLOPT_##name == number, #name " has another number");
SWAPPABLE_CURL_OPTIONS(CURL_OPTION)
HAS_OFFSET(CurlMessage, kind, CURLMsg, msg)
HAS_OFFSET(CurlMessage, easy, CURLMsg, easy_handle)
HAS_OFFSET(CurlMessage, result, CURLMsg, data.result)
HAS_OFFSET(CurlAddress, family, struct curl_sockaddr, family)
HAS_OFFSET(CurlAddress, type, struct curl_sockaddr, socktype)
HAS_OFFSET(CurlAddress, protocol, struct curl_sockaddr, protocol)
_Static_assert(
  sizeof(CURLcode) == sizeof(int) && sizeof(curlsocktype) == sizeof(int) &&
    sizeof(curl_socket_t) == sizeof(int),
  "an enumeration has another size");
_Static_assert(
  __builtin_types_compatible_p(
    __typeof__(((CurlReceiver *)0)->receiveBody), curl_write_callback),
  "the function that receives bytes has other parameters, or another result");
_Static_assert(CURL_GLOBAL_ALL == 3 && CURL_ERROR_SIZE == 256, "constants have other values");

// libpq
#define PQ_FUNCTION(name, symbol, type, parameters) HAS_TYPE(symbol, type, parameters)
SWAPPABLE_PQ_FUNCTIONS(PQ_FUNCTION)
#define PQ_CONSTANT(name, value) _Static_assert(name == value, #name " has another value");
SWAPPABLE_PQ_CONSTANTS(PQ_CONSTANT)
HAS_OFFSET(PQNotification, channel, PGnotify, relname)
HAS_OFFSET(PQNotification, processID, PGnotify, be_pid)
HAS_OFFSET(PQNotification, payload, PGnotify, extra)
HAS_OFFSET(PQOption, keyword, PQconninfoOption, keyword)
HAS_OFFSET(PQOption, environmentVariable, PQconninfoOption, envvar)
HAS_OFFSET(PQOption, compiledDefault, PQconninfoOption, compiled)
HAS_OFFSET(PQOption, value, PQconninfoOption, val)
HAS_OFFSET(PQOption, label, PQconninfoOption, label)
HAS_OFFSET(PQOption, display, PQconninfoOption, dispchar)
HAS_OFFSET(PQOption, size, PQconninfoOption, dispsize)
_Static_assert(sizeof(PQOption) == sizeof(PQconninfoOption), "PQconninfoOption has another size");
_Static_assert(sizeof(ExecStatusType) == sizeof(int), "an enumeration has another size");
