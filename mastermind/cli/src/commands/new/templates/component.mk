# `make` builds the library, `make test` tests it.
CC ?= cc
CFLAGS ?= -O2 -std=c11 -Wall -Wextra -fPIC
CPPFLAGS += -Iinclude

lib@stem@.so: @stem@.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -shared -o $@ $<

test: test.c @stem@.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -o test_@stem@ $^
	./test_@stem@

clean:
	rm -f lib@stem@.so test_@stem@

.PHONY: test clean
