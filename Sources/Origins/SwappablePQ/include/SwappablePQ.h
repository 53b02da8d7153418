#pragma once

// The part of libpq that this package uses. `.ci/headers.c` compares it with the library's own header, whose types
// replace the types below if it is included before.

#pragma clang diagnostic ignored "-Wnullability-completeness"

/// The beginning of a `PGnotify`.
typedef struct {
  char *channel;
  int processID;
  char *payload;
} PQNotification;

/// A `PQconninfoOption`.
typedef struct {
  char *keyword;
  char *environmentVariable;
  char *compiledDefault;
  char *value;
  char *label;
  char *display;
  int size;
} PQOption;

/// Values of enumerations, and of the fields of an error report.
#define SWAPPABLE_PQ_CONSTANTS(C) \
  C(CONNECTION_OK, 0) \
  C(CONNECTION_BAD, 1) \
  C(PGRES_POLLING_READING, 1) \
  C(PGRES_POLLING_WRITING, 2) \
  C(PGRES_POLLING_OK, 3) \
  C(PGRES_EMPTY_QUERY, 0) \
  C(PGRES_COMMAND_OK, 1) \
  C(PGRES_TUPLES_OK, 2) \
  C(PGRES_COPY_OUT, 3) \
  C(PGRES_COPY_IN, 4) \
  C(PGRES_COPY_BOTH, 8) \
  C(PGRES_SINGLE_TUPLE, 9) \
  C(PQTRANS_IDLE, 0) \
  C(PQTRANS_INTRANS, 2) \
  C(PG_DIAG_SQLSTATE, 'C') \
  C(PG_DIAG_MESSAGE_PRIMARY, 'M') \
  C(PG_DIAG_MESSAGE_DETAIL, 'D') \
  C(PG_DIAG_MESSAGE_HINT, 'H') \
  C(PG_DIAG_STATEMENT_POSITION, 'P')

#ifndef LIBPQ_FE_H
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;
typedef PQNotification PGnotify;
typedef PQOption PQconninfoOption;
typedef void (*PQnoticeProcessor)(void *context, const char *message);
typedef unsigned int Oid;
typedef unsigned int ConnStatusType;
typedef unsigned int PostgresPollingStatusType;
typedef unsigned int ExecStatusType;
typedef unsigned int PGTransactionStatusType;
#define CONSTANT(name, value) static const unsigned int name = value;
SWAPPABLE_PQ_CONSTANTS(CONSTANT)
#undef CONSTANT
#endif

/// Functions: a short name, the name in the library, the type of the result, and the parameters.
#define SWAPPABLE_PQ_FUNCTIONS(F) \
  F(connectStartParams, PQconnectStartParams, PGconn *, \
    (const char *const *, const char *const *, int)) \
  F(connectPoll, PQconnectPoll, PostgresPollingStatusType, (PGconn *)) \
  F(finish, PQfinish, void, (PGconn *)) \
  F(status, PQstatus, ConnStatusType, (const PGconn *)) \
  F(transactionStatus, PQtransactionStatus, PGTransactionStatusType, (const PGconn *)) \
  F(socket, PQsocket, int, (const PGconn *)) \
  F(host, PQhost, char *, (const PGconn *)) \
  F(port, PQport, char *, (const PGconn *)) \
  F(conninfo, PQconninfo, PQconninfoOption *, (PGconn *)) \
  F(backendPID, PQbackendPID, int, (const PGconn *)) \
  F(errorMessage, PQerrorMessage, char *, (const PGconn *)) \
  F(setNonblocking, PQsetnonblocking, int, (PGconn *, int)) \
  F(setNoticeProcessor, PQsetNoticeProcessor, PQnoticeProcessor, \
    (PGconn *, PQnoticeProcessor, void *)) \
  F(conninfoParse, PQconninfoParse, PQconninfoOption *, (const char *, char **)) \
  F(conninfoFree, PQconninfoFree, void, (PQconninfoOption *)) \
  F(sendQuery, PQsendQuery, int, (PGconn *, const char *)) \
  F(sendQueryParams, PQsendQueryParams, int, \
    (PGconn *, const char *, int, const Oid *, const char *const *, const int *, const int *, int)) \
  F(sendPrepare, PQsendPrepare, int, (PGconn *, const char *, const char *, int, const Oid *)) \
  F(sendDescribePrepared, PQsendDescribePrepared, int, (PGconn *, const char *)) \
  F(setSingleRowMode, PQsetSingleRowMode, int, (PGconn *)) \
  F(flush, PQflush, int, (PGconn *)) \
  F(consumeInput, PQconsumeInput, int, (PGconn *)) \
  F(isBusy, PQisBusy, int, (PGconn *)) \
  F(getResult, PQgetResult, PGresult *, (PGconn *)) \
  F(notifies, PQnotifies, PGnotify *, (PGconn *)) \
  F(getCancel, PQgetCancel, PGcancel *, (PGconn *)) \
  F(cancel, PQcancel, int, (PGcancel *, char *, int)) \
  F(freeCancel, PQfreeCancel, void, (PGcancel *)) \
  F(freeMemory, PQfreemem, void, (void *)) \
  F(resultStatus, PQresultStatus, ExecStatusType, (const PGresult *)) \
  F(resultErrorField, PQresultErrorField, char *, (const PGresult *, int)) \
  F(resultErrorMessage, PQresultErrorMessage, char *, (const PGresult *)) \
  F(rowCount, PQntuples, int, (const PGresult *)) \
  F(fieldCount, PQnfields, int, (const PGresult *)) \
  F(fieldName, PQfname, char *, (const PGresult *, int)) \
  F(fieldType, PQftype, Oid, (const PGresult *, int)) \
  F(value, PQgetvalue, char *, (const PGresult *, int, int)) \
  F(valueLength, PQgetlength, int, (const PGresult *, int, int)) \
  F(valueIsNull, PQgetisnull, int, (const PGresult *, int, int)) \
  F(commandTuples, PQcmdTuples, char *, (PGresult *)) \
  F(parameterCount, PQnparams, int, (const PGresult *)) \
  F(parameterType, PQparamtype, Oid, (const PGresult *, int)) \
  F(clear, PQclear, void, (PGresult *))

/// The functions of a library that is loaded at run time.
typedef struct __attribute__((swift_attr("@Sendable"))) {
#define MEMBER(name, symbol, type, parameters) type(*_Nonnull name) parameters;
  SWAPPABLE_PQ_FUNCTIONS(MEMBER)
#undef MEMBER
} PQFunctions;

/// Finds the functions, or sets the name of one that is missing. Then the functions must not be called.
PQFunctions swappable_pq_load(void *library, const char **missing);
