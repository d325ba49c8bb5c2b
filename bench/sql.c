/* What `select 42` as a plan is measured against: a program that loads the same library and performs the query.
   Usage: sql LIBRARY QUERY */
#include <dlfcn.h>
#include <stdio.h>

typedef struct { unsigned long fields[6]; } result;

int main(int count, char **words) {
  if (count != 3) return 2;
  void *library = dlopen(words[1], RTLD_LAZY | RTLD_LOCAL);
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
  int (*open)(const char *, void **) = dlsym(library, "duckdb_open");
  int (*connect)(void *, void **) = dlsym(library, "duckdb_connect");
  int (*query)(void *, const char *, result *) = dlsym(library, "duckdb_query");
  void (*free_result)(result *) = dlsym(library, "duckdb_destroy_result");
  void (*disconnect)(void **) = dlsym(library, "duckdb_disconnect");
  void (*close)(void **) = dlsym(library, "duckdb_close");
  void *database, *connection;
  result given;
  if (open(NULL, &database) || connect(database, &connection) || query(connection, words[2], &given)) return 1;
  free_result(&given);
  disconnect(&connection);
  close(&database);
  return 0;
}
