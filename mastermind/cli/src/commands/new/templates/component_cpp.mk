# `make` builds the library, `make test` tests it.
CXX ?= c++
CC ?= cc
CXXFLAGS ?= -O2 -std=c++17 -Wall -Wextra -fPIC
CFLAGS ?= -O2 -std=c11 -Wall -Wextra -fPIC
CPPFLAGS += -Iinclude

lib@stem@.so: @stem@.cpp
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -shared -o $@ $<

test: test.c lib@stem@.so
	$(CC) $(CPPFLAGS) $(CFLAGS) -o test_@stem@ $^ -Wl,-rpath,'$$ORIGIN'
	./test_@stem@

clean:
	rm -f lib@stem@.so test_@stem@

.PHONY: test clean
