# `make test` tests the interface.
CC ?= cc
CFLAGS ?= -O2 -std=c11 -Wall -Wextra
CPPFLAGS += -I. -Iinclude

test: test.c @stem@.h
	$(CC) $(CPPFLAGS) $(CFLAGS) -o test_@stem@ test.c
	./test_@stem@

clean:
	rm -f test_@stem@

.PHONY: test clean
