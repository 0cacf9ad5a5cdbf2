// A server on standard input and output, in a loop on poll(2), without threads.
//
//     cargo build --package mcp-sansio-ffi
//     cc -Iadapters/ffi/include -otarget/poll_server adapters/ffi/examples/poll_server.c
//         target/debug/libmcp_sansio_ffi.a -lm -lpthread -ldl
//
// Its tool `add` responds at once. Its tool `wait` takes time, reports progress, and can be cancelled: the loop sleeps
// until the next of its deadlines and of those of the protocol.

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mcp_sansio.h"

static const char CONFIG[] = "{\"name\":\"poll_server\",\"version\":\"1.0.0\",\"capabilities\":{\"tools\":{}}}";

static const char TOOLS[] =
    "{\"tools\":["
    "{\"name\":\"add\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"number\"}},\"required\":[\"a\",\"b\"]}},"
    "{\"name\":\"wait\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"milliseconds\":{\"type\":\"number\"}},\"required\":[\"milliseconds\"]}}]}";

// A call of `wait`.
struct waiting {
    uint64_t request, step, end;
    unsigned steps;
};

enum { MOST_WAITING = 64, STEPS = 4, MOST_UNSENT = 1 << 16 };
static struct waiting waiting[MOST_WAITING];

// How long a client may read nothing of the last output, after the end of the connection.
static const uint64_t PATIENCE = 5000000000u;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void check(McpStatus status) {
    // A request that was cancelled has ended, and gets no response. Every other error is worth a line.
    if (status == MCP_STATUS_OK || status == MCP_STATUS_STALE) return;
    McpText error = mcp_last_error();
    fprintf(stderr, "poll_server: %.*s\n", (int)error.length, error.bytes);
}

static void respond_text(McpConnection *connection, uint64_t request, const char *text) {
    char result[256];
    int length = snprintf(result, sizeof result, "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", text);
    check(mcp_respond(connection, request, result, (size_t)length));
}

static void reject(McpConnection *connection, uint64_t request, int code, const char *message) {
    check(mcp_reject(connection, request, code, message, strlen(message)));
}

// Finds the value of a member, whatever object has it. It is enough for the numbers and names of this example; a program
// with larger params uses a library for JSON.
static const char *member(const char *json, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\"", name);
    const char *found = strstr(json, key);
    if (found == NULL) return NULL;
    found += strlen(key);
    found += strspn(found, " \t\n\r");
    return *found == ':' ? found + 1 + strspn(found + 1, " \t\n\r") : NULL;
}

static bool number(const char *json, const char *name, double *value) {
    const char *found = member(json, name);
    char *end;
    if (found == NULL) return false;
    *value = strtod(found, &end);
    return end != found && isfinite(*value);
}

static bool is_tool(const char *json, const char *tool) {
    const char *name = member(json, "name");
    size_t length = strlen(tool);
    return name != NULL && name[0] == '"' && strncmp(name + 1, tool, length) == 0 && name[1 + length] == '"';
}

static void call_tool(McpConnection *connection, uint64_t request, const char *params) {
    double a, b;
    if (is_tool(params, "add")) {
        if (!number(params, "a", &a) || !number(params, "b", &b)) {
            reject(connection, request, -32602, "a and b are numbers");
            return;
        }
        char sum[64];
        snprintf(sum, sizeof sum, "%.15g", a + b);
        respond_text(connection, request, sum);
    } else if (is_tool(params, "wait")) {
        if (!number(params, "milliseconds", &a) || a < 0 || a > 1e6) {
            reject(connection, request, -32602, "milliseconds is a number up to 1000000");
            return;
        }
        for (int i = 0; i < MOST_WAITING; i++) {
            if (waiting[i].request != 0) continue;
            uint64_t begin = now(), step = (uint64_t)(a * 1e6) / STEPS;
            waiting[i] = (struct waiting){request, step, begin + step, 0};
            return;
        }
        reject(connection, request, -32603, "too many calls wait");
    } else {
        reject(connection, request, -32602, "unknown tool");
    }
}

static void handle(McpConnection *connection, const McpEvent *event) {
    switch (event->kind) {
    case MCP_EVENT_KIND_REQUEST: {
        // A terminating zero for the functions of the C library.
        char *params = strndup(event->text.length ? event->text.bytes : "", event->text.length);
        if (params == NULL) {
            reject(connection, event->request, -32603, "out of memory");
        } else if (event->method.length == 10 && memcmp(event->method.bytes, "tools/list", 10) == 0) {
            check(mcp_respond(connection, event->request, TOOLS, sizeof TOOLS - 1));
        } else if (event->method.length == 10 && memcmp(event->method.bytes, "tools/call", 10) == 0) {
            call_tool(connection, event->request, params);
        } else {
            reject(connection, event->request, -32601, "method not found");
        }
        free(params);
        break;
    }
    case MCP_EVENT_KIND_CANCELLED:
        for (int i = 0; i < MOST_WAITING; i++) {
            if (waiting[i].request == event->request) waiting[i].request = 0;
        }
        break;
    case MCP_EVENT_KIND_VIOLATION:
        fprintf(stderr, "poll_server: the client violates the protocol: %.*s\n", (int)event->text.length, event->text.bytes);
        break;
    default:
        break;
    }
}

// Continues the calls of `wait` that are due, and returns when the next one is.
static uint64_t continue_waiting(McpConnection *connection, uint64_t deadline) {
    uint64_t time = now();
    for (int i = 0; i < MOST_WAITING; i++) {
        struct waiting *one = &waiting[i];
        while (one->request != 0 && one->end <= time) {
            one->steps++;
            if (one->steps == STEPS) {
                respond_text(connection, one->request, "done");
                one->request = 0;
            } else {
                check(mcp_progress(connection, one->request, one->steps, STEPS, time));
                one->end += one->step;
            }
        }
        if (one->request != 0 && one->end < deadline) deadline = one->end;
    }
    return deadline;
}

// Writes as much as cannot block. Returns false if the client does not read any more.
static bool write_output(McpConnection *connection, const uint8_t *unsent, size_t length) {
    // A pipe that is ready takes at least this much without blocking.
    ssize_t written = write(STDOUT_FILENO, unsent, length < 512 ? length : 512);
    if (written >= 0) {
        check(mcp_sent(connection, (size_t)written));
    } else if (errno != EINTR && errno != EAGAIN) {
        check(mcp_fail(connection, now()));
        return false;
    }
    return true;
}

// Reads input, and handles its events. Returns false at the end of the input.
static bool read_input(McpConnection *connection) {
    uint8_t input[16384];
    McpEvent event;
    ssize_t bytes = read(STDIN_FILENO, input, sizeof input);
    if (bytes == 0) {
        check(mcp_finish(connection));
        return false;
    }
    if (bytes < 0) {
        if (errno == EINTR || errno == EAGAIN) return true;
        check(mcp_fail(connection, now()));
        return false;
    }
    size_t fed = 0;
    while (fed < (size_t)bytes) {
        fed += mcp_feed(connection, input + fed, (size_t)bytes - fed);
        while (mcp_next_event(connection, now(), &event)) handle(connection, &event);
    }
    return true;
}

// Waits for the streams until a deadline. Returns false if waiting is not possible.
static bool wait_for(struct pollfd streams[2], uint64_t deadline) {
    uint64_t time = now();
    int timeout = -1;
    if (deadline != UINT64_MAX) {
        // A millisecond later rather than earlier, so that the loop does not spin.
        uint64_t milliseconds = deadline <= time ? 0 : (deadline - time) / 1000000u + 1;
        timeout = milliseconds < 60000 ? (int)milliseconds : 60000;
    }
    if (poll(streams, 2, timeout) >= 0) return true;
    streams[0].revents = streams[1].revents = 0;
    return errno == EINTR;
}

int main(void) {
    McpConnection *connection = NULL;
    McpStatus status = mcp_server_new(CONFIG, sizeof CONFIG - 1, &connection);
    check(status);
    if (status != MCP_STATUS_OK) return 1;

    bool is_reading = true, is_writing = true;
    uint64_t patience = UINT64_MAX;
    for (;;) {
        // After a write as well: notifications may have waited for room.
        McpEvent event;
        while (mcp_next_event(connection, now(), &event)) handle(connection, &event);
        uint64_t deadline = continue_waiting(connection, mcp_deadline(connection));
        size_t length = 0;
        const uint8_t *unsent = mcp_unsent(connection, &length);
        if (!is_writing && length != 0) {
            // They can be neither written nor waited for.
            check(mcp_sent(connection, length));
            length = 0;
        }
        if (mcp_is_closed(connection)) {
            if (patience == UINT64_MAX) patience = now() + PATIENCE;
            if (length == 0 || patience <= now()) break;
            if (patience < deadline) deadline = patience;
        }
        struct pollfd streams[2] = {
            // The requests of a client that does not read its responses wait: more responses would find no room. The end
            // of the input is noticed in any case.
            {.fd = is_reading ? STDIN_FILENO : -1, .events = length < MOST_UNSENT ? POLLIN : 0},
            {.fd = length != 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
        };
        if (!wait_for(streams, deadline)) break;
        if (streams[1].revents != 0) {
            is_writing = write_output(connection, unsent, length);
            patience = UINT64_MAX;
        }
        if (streams[0].revents != 0) is_reading = read_input(connection);
    }
    mcp_free(connection);
    return 0;
}
