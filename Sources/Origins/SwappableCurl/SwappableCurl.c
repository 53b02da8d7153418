#include "SwappableCurl.h"

#include <dlfcn.h>

CurlFunctions swappable_curl_load(void *library, const char **missing) {
  CurlFunctions functions;
  *missing = NULL;
#define LOAD(name, symbol, type, parameters) \
  functions.name = (type(*) parameters)dlsym(library, "curl_" #symbol); \
  if (!functions.name && !*missing) *missing = "curl_" #symbol;
  SWAPPABLE_CURL_FUNCTIONS(LOAD)
  return functions;
}

enum {
#define CONSTANT(name, number) name = number,
  SWAPPABLE_CURL_OPTIONS(CONSTANT)
};

void swappable_curl_set(
  CurlFunctions curl, CURL *easy, const char *url, struct curl_slist *headers,
  CurlReceiver receiver
) {
  curl.easySet(easy, URL, url);
  curl.easySet(easy, HTTPHEADER, headers);
  curl.easySet(easy, ERRORBUFFER, receiver.error);
  curl.easySet(easy, NOSIGNAL, 1L);
  // Otherwise, the head of a proxy's answer would arrive before the head of the server's answer.
  curl.easySet(easy, SUPPRESS_CONNECT_HEADERS, 1L);
  curl.easySet(easy, OPENSOCKETDATA, receiver.context);
  curl.easySet(easy, OPENSOCKETFUNCTION, receiver.makeSocket);
  curl.easySet(easy, HEADERDATA, receiver.context);
  curl.easySet(easy, HEADERFUNCTION, receiver.receiveHead);
  curl.easySet(easy, WRITEDATA, receiver.context);
  curl.easySet(easy, WRITEFUNCTION, receiver.receiveBody);
}
