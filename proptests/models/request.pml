/*
 * The life of one request between a client and a server, for Spin. README.md describes the model.
 *
 * TASK=1: the client asks for a task. LIVE=1: progress without end, for the formulas about liveness.
 * MUTATE=n: without the nth rule. PRINT=1: prints every transition between abstract states.
 */
#ifndef TASK
#define TASK 0
#endif
#ifndef LIVE
#define LIVE 0
#endif
#ifndef MUTATE
#define MUTATE 0
#endif
#ifndef PRINT
#define PRINT 0
#endif

/* Durations, in ticks. The world in proptests/kit/exploration/request.rs has the same. */
#define IDLE 2
#define TOTAL 3
#define POLL 1
#define DRAIN 1
#define GRACE 2
#define OFF 15
/* How often the server reports progress, unless LIVE. */
#ifndef REPORTS
#define REPORTS 2
#endif
/* Whether either side can close at once, and whether it can shut down. */
#ifndef CLOSE
#define CLOSE 1
#endif
#ifndef SHUT_DOWN
#define SHUT_DOWN 1
#endif

/* Messages of the client. */
#define REQUEST 1
#define CANCEL_REQUEST 2
#define GET 3
#define FETCH 4
#define CANCEL_TASK 5
#define CANCEL_FETCH 6
/* Messages of the server. */
#define PROGRESS 7
#define RESPONSE 8
#define ERROR 9
#define CREATED 10
#define WORKING 11
#define COMPLETED 12
#define CANCELLED 13
#define GET_ERROR 14
#define FETCHED 15
#define FETCH_ERROR 16
#define TASK_CANCELLED 17
#define CANCEL_ERROR 18
/* The end of either direction. */
#define END 19

/* The call: before it, open, a task, over. */
#define NONE 0
#define OPEN 1
#define FOLLOWED 2
#define OVER 3
/* Its outcome; 0 is none. */
#define BY_RESPONSE 1
#define BY_ERROR 2
#define BY_IDLE 3
#define BY_TOTAL 4
#define BY_CANCEL 5
#define BY_END 6
#define UNSENT 7
#define LEFT_TASK 8
#define BY_TASK_CANCEL 9

/* The phases of a connection. CLOSING has outcomes that are not handed out yet. */
#define READY 0
#define DRAINING 1
#define CLOSING 2
#define CLOSED 3

/* The request at the server: none, being processed, answered, cancelled by the client, ended with the connection. */
#define PROCESSED 1
#define ANSWERED 2
#define WITHDRAWN 3
#define ENDED 4
/* The task at the server; NONE is none. */
#define T_WORKING 1
#define T_COMPLETED 2
#define T_CANCELLED 3

chan client_out = [6] of { byte };
chan up = [12] of { byte };
chan server_out = [8] of { byte };
chan down = [12] of { byte };

/* The client. */
byte call = NONE;
byte outcome = 0;
byte idle = OFF;
byte total = OFF;
byte client_phase = READY;
byte client_deadline = OFF;
bool client_news;
bool client_hung;
bool may_become_task;
bool getting;
bool fetching;
byte poll = OFF;
byte failures;
bool asked_to_cancel;

/* The server. */
byte request = NONE;
byte task = NONE;
byte server_phase = READY;
byte server_deadline = OFF;
bool server_news;
bool server_hung;
byte reports;

/* Memory of the properties, which no rule reads. */
bool was_withdrawn;
bool was_received;
bool was_answered;
bool was_notified;
byte quiet_ticks;
byte call_ticks;

/* Scratch: no part of the state. */
hidden byte message;
hidden byte count;
hidden byte found;

#if PRINT
#include "print.pml"
#define BEFORE c_code { before(); }
#define AFTER(action) c_code { after(action); }
#else
#define BEFORE skip
#define AFTER(action) skip
#endif

/* ---- Channels ---- */

/* Counts a message in a channel, and takes it out if `takes`. The order of the others stays. */
inline sift(channel, wanted, takes) {
    found = false;
    count = len(channel);
    do
    :: count > 0 ->
        channel?message;
        count--;
        if
        :: message == wanted && takes -> found = true
        :: message == wanted && !takes -> found = true; channel!message
        :: else -> channel!message
        fi
    :: else -> break
    od
}

inline clear(channel) {
    do
    :: len(channel) > 0 -> channel?message
    :: else -> break
    od
}

inline flush(outbox, link) {
    do
    :: len(outbox) > 0 -> outbox?message; link!message
    :: else -> break
    od
}

inline least(result, value) {
    if
    :: value < result -> result = value
    :: else
    fi
}

inline down_by_one(timer) {
    if
    :: timer != OFF -> timer--
    :: else
    fi
}

#include "client.pml"
#include "server.pml"

/* ---- What can happen ---- */

/* Under weak fairness a process that can always act acts. An application can also rest without end. */
#if LIVE
#define MAY_REST :: true -> skip
#define MAY_REPORT (len(server_out) + len(down) < 3 - 2 * TASK)
#else
#define MAY_REST
#define MAY_REPORT (reports < REPORTS)
#endif

active proctype application_of_client() {
    do
    :: d_step {
        call == NONE && client_phase == READY ->
        BEFORE;
        call = OPEN;
        idle = IDLE;
        total = TOTAL;
        client_out!REQUEST;
        AFTER("call")
    }
    :: d_step {
        (call == OPEN || call == FOLLOWED) && (client_phase == READY || client_phase == DRAINING) ->
        BEFORE;
        if
        :: call == OPEN -> give_up(BY_CANCEL)
        :: call == FOLLOWED -> give_up_task(BY_CANCEL)
        fi;
        AFTER("cancel")
    }
    :: d_step {
        call == FOLLOWED && client_phase == READY && !asked_to_cancel ->
        BEFORE;
        asked_to_cancel = true;
        client_out!CANCEL_TASK;
        AFTER("cancel task")
    }
    :: d_step {
        CLOSE && (client_phase == READY || client_phase == DRAINING) ->
        BEFORE;
        close_client();
        AFTER("client: close")
    }
    :: d_step {
        SHUT_DOWN && client_phase == READY ->
        BEFORE;
        client_phase = DRAINING;
        client_deadline = GRACE;
        client_news = true;
        AFTER("client: shut down")
    }
    MAY_REST
    od
}

active proctype application_of_server() {
    do
    :: d_step {
        request == PROCESSED && (server_phase == READY || server_phase == DRAINING) ->
        BEFORE;
        answer(RESPONSE);
#if MUTATE != 12
        request = ANSWERED;
#endif
        AFTER("respond")
    }
    :: d_step {
        MAY_REPORT && (request == PROCESSED || task == T_WORKING || (MUTATE == 20 && request == ANSWERED)) &&
        (server_phase == READY || server_phase == DRAINING) ->
        BEFORE;
        /* P-WORK: progress belongs to work that goes on. */
        assert(!was_notified && (!was_answered || task == T_WORKING));
        reports = (LIVE -> 0 : reports + 1);
        server_out!PROGRESS;
        AFTER("report")
    }
    :: d_step {
        TASK && request == PROCESSED && (server_phase == READY || server_phase == DRAINING) ->
        BEFORE;
        answer(CREATED);
        request = ANSWERED;
        task = T_WORKING;
        AFTER("begin task")
    }
    :: d_step {
        task == T_WORKING ->
        BEFORE;
        task = T_COMPLETED;
        AFTER("complete task")
    }
    :: d_step {
        CLOSE && (server_phase == READY || server_phase == DRAINING) ->
        BEFORE;
        close_server();
        AFTER("server: close")
    }
    :: d_step {
        SHUT_DOWN && server_phase == READY ->
        BEFORE;
        begin_drain(GRACE);
        AFTER("server: shut down")
    }
    MAY_REST
    od
}

active proctype sending_up() {
    do
    :: d_step { len(client_out) > 0 && !client_hung -> BEFORE; flush(client_out, up); AFTER("send up") }
    :: d_step {
        client_phase == CLOSED && !client_hung && len(client_out) == 0 ->
        BEFORE;
        client_hung = true;
        up!END;
        AFTER("client: hang up")
    }
    od
}

active proctype sending_down() {
    do
    :: d_step {
        len(server_out) > 0 && !server_hung ->
        BEFORE;
        /* P-SILENT: nothing about a request is sent after its cancellation. */
        sift(server_out, PROGRESS, false);
        assert(!(found && request == WITHDRAWN));
        flush(server_out, down);
        AFTER("send down")
    }
    :: d_step {
        server_phase == CLOSED && !server_hung && len(server_out) == 0 ->
        BEFORE;
        server_hung = true;
        down!END;
        AFTER("server: hang up")
    }
    od
}

active proctype delivering_up() {
    do
    :: d_step { len(up) > 0 -> BEFORE; up?message; at_server(); AFTER("deliver up") }
    od
}

active proctype delivering_down() {
    do
    :: d_step { len(down) > 0 -> BEFORE; down?message; at_client(); AFTER("deliver down") }
    od
}

#define CLIENT_IS_DUE \
    (client_news || client_phase == CLOSING || (client_phase == DRAINING && CLIENT_IS_QUIET) || \
     idle == 0 || total == 0 || poll == 0 || client_deadline == 0)
#define SERVER_IS_DUE \
    (server_news || server_phase == CLOSING || (server_phase == DRAINING && SERVER_IS_QUIET) || server_deadline == 0)
#define HAS_TIMER (idle != OFF || total != OFF || poll != OFF || client_deadline != OFF || server_deadline != OFF)

active proctype timers_of_client() {
    do
    :: d_step { CLIENT_IS_DUE -> BEFORE; settle_client(); AFTER("client: settle") }
    od
}

active proctype timers_of_server() {
    do
    :: d_step { SERVER_IS_DUE -> BEFORE; settle_server(); AFTER("server: settle") }
    od
}

/* The clock stands still while a timer is due: a timer is late by less than a tick. */
active proctype clock() {
    do
    :: d_step {
        HAS_TIMER && !CLIENT_IS_DUE && !SERVER_IS_DUE ->
        BEFORE;
        down_by_one(idle);
        down_by_one(total);
        down_by_one(poll);
        down_by_one(client_deadline);
        down_by_one(server_deadline);
        if
        :: call == OPEN || call == FOLLOWED -> call_ticks++; quiet_ticks++
        :: else
        fi;
        AFTER("tick")
    }
    od
}

/* ---- Liveness, under weak fairness ---- */

#if LIVE
#define GAVE_UP (outcome == BY_CANCEL || outcome == BY_IDLE || outcome == BY_TOTAL)

/* Every call ends, even if the server reports progress without end. */
ltl call_ends { [] (call != NONE -> <> (outcome != 0)) }
/* A side that ends the connection closes it. */
ltl client_closes { [] (client_phase != READY -> <> (client_phase == CLOSED)) }
ltl server_closes { [] (server_phase != READY -> <> (server_phase == CLOSED)) }
/* Both sides close if one does. */
ltl end_spreads { [] ((client_hung || server_hung) -> <> (client_hung && server_hung)) }
/* A server stops the work on a call that was given up. */
ltl request_stops { [] ((GAVE_UP && request == PROCESSED && !TASK) -> <> (request != PROCESSED)) }
ltl task_stops { [] ((GAVE_UP && task == T_WORKING) -> <> (task != T_WORKING)) }
#endif
