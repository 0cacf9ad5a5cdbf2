/* The rules of the client. request.pml has its state. */

/* P-ONE: a call has one outcome. */
inline end_call(how) {
    assert(outcome == 0);
    assert(call == OPEN || call == FOLLOWED);
    outcome = how;
    call = OVER;
    idle = OFF;
    total = OFF;
    poll = OFF;
    call_ticks = 0;
    quiet_ticks = 0
}

/* Gives up a request that is not a task yet. */
inline give_up(how) {
    sift(client_out, REQUEST, (MUTATE != 7));
    end_call(how);
    if
    :: found -> was_withdrawn = true
#if MUTATE == 6
    :: !found && !TASK -> skip
#else
    :: !found && !TASK -> client_out!CANCEL_REQUEST
#endif
    /* A request for a task is cancelled by its task id, which is not known yet. */
#if MUTATE == 14
    :: !found && TASK -> client_out!CANCEL_REQUEST
#else
    :: !found && TASK -> may_become_task = true
#endif
    fi
}

/* Gives up the requests about a task that are no longer needed. */
inline stop_asking() {
    if
    :: getting -> sift(client_out, GET, true)
    :: else
    fi;
    if
    :: fetching ->
        sift(client_out, FETCH, true);
        if
        :: !found -> client_out!CANCEL_FETCH
        :: else
        fi;
        fetching = false
    :: else
    fi
}

inline give_up_task(how) {
    stop_asking();
    if
#if MUTATE == 15
    :: client_phase == READY || client_phase == DRAINING -> skip
#else
    :: client_phase == READY || client_phase == DRAINING -> client_out!CANCEL_TASK
#endif
    :: else
    fi;
    end_call(how)
}

inline ask() {
    poll = OFF;
    if
    :: !getting && client_phase == READY -> client_out!GET; getting = true
    :: else
    fi
}

/* A status of the task from a response. */
inline on_status(status) {
    failures = 0;
    if
    :: status == WORKING -> if :: poll == OFF -> poll = POLL :: else -> skip fi
    :: status == COMPLETED ->
        if
        :: !fetching && client_phase == READY -> client_out!FETCH; fetching = true
        :: else
        fi;
        poll = OFF
    :: status == CANCELLED -> stop_asking(); end_call(BY_TASK_CANCEL)
    fi
}

/* Requests of the client leave its outbox when the connection ends; notifications and cancellations of tasks stay. */
inline withdraw_requests() {
    sift(client_out, GET, true);
    sift(client_out, FETCH, true);
    sift(client_out, REQUEST, true)
}

inline end_client() {
    withdraw_requests();
    if
#if MUTATE == 8
    :: call == OPEN && !found -> skip
#else
    :: call == OPEN && !found -> end_call(BY_END)
#endif
    :: call == OPEN && found -> end_call(UNSENT); was_withdrawn = true
    :: call == FOLLOWED -> end_call(LEFT_TASK)
    :: else
    fi;
    if
    :: client_hung -> clear(client_out)
    :: else
    fi;
    client_phase = CLOSED;
    client_deadline = OFF;
    may_become_task = false;
    getting = false;
    fetching = false;
    /* P-EMPTY: no table holds anything after the end. */
    assert(call != OPEN && call != FOLLOWED)
}

inline close_client() {
    client_phase = CLOSING;
    client_deadline = OFF;
    client_news = false;
    if
    :: !client_hung -> client_hung = true; up!END
    :: else
    fi
}

/* Whether nothing that a client waits for keeps it from closing. A task outlives the connection. */
#define CLIENT_IS_QUIET (call != OPEN)

inline expire() {
    if
    :: call == OPEN && total == 0 && (MUTATE != 19 || idle != 0) ->
        assert(call_ticks == TOTAL);
        give_up(BY_TOTAL)
    :: call == OPEN && idle == 0 && (MUTATE == 19 || total != 0) ->
        /* P-IDLE: only after that time without progress, and not when the total timeout is due as well. */
        assert(quiet_ticks == IDLE && call_ticks < TOTAL);
        give_up(BY_IDLE)
    :: call == FOLLOWED && total == 0 ->
        assert(call_ticks == TOTAL);
        give_up_task(BY_TOTAL)
    :: else
    fi
}

inline settle_client() {
    client_news = false;
    if
    :: client_phase == CLOSING -> end_client()
    :: client_phase != CLOSING && client_phase != CLOSED ->
        if
        :: call == FOLLOWED && poll == 0 -> ask()
        :: else
        fi;
        expire();
        if
        :: client_phase == DRAINING && MUTATE != 22 && (CLIENT_IS_QUIET || client_deadline == 0) -> end_client()
        :: else
        fi
    fi
}

/* The response to the request of the call itself. */
inline on_response(how) {
    if
#if MUTATE == 1
    :: call == OPEN || (call == OVER && outcome == BY_CANCEL) -> end_call(how)
#else
    :: call == OPEN -> end_call(how)
#endif
    :: else -> may_become_task = false
    fi
}

inline on_created() {
    if
    :: call == OPEN ->
        call = FOLLOWED;
        idle = OFF;
        poll = POLL
    :: call == OVER && may_become_task ->
        may_become_task = false;
        if
#if MUTATE == 16
        :: client_phase == READY || client_phase == DRAINING -> skip
#else
        :: client_phase == READY || client_phase == DRAINING -> client_out!CANCEL_TASK
#endif
        :: else
        fi
    :: else
    fi
}

inline on_progress() {
    if
#if MUTATE == 2
    :: call == OPEN || outcome == BY_CANCEL ->
#else
    :: call == OPEN ->
#endif
        /* P-PROGRESS: the application gets progress of an open call only. */
        assert(outcome == 0);
        quiet_ticks = 0;
#if MUTATE == 4
        skip
#else
        idle = IDLE
#endif
#if MUTATE == 5
        ; total = TOTAL; call_ticks = 0
#endif
    /* The progress of a task, which has no idle timeout. */
    :: call == FOLLOWED -> assert(outcome == 0)
    :: else
    fi
}

/* A response to a request about the task. */
inline on_poll(status) {
    if
    :: status == GET_ERROR || status == WORKING || status == COMPLETED || status == CANCELLED -> getting = false
    :: status == FETCHED || status == FETCH_ERROR -> fetching = false
    :: else
    fi;
    if
    :: call != FOLLOWED -> skip
    :: call == FOLLOWED && (status == WORKING || status == COMPLETED || status == CANCELLED) -> on_status(status)
    :: call == FOLLOWED && status == GET_ERROR ->
        failures++;
        if
        :: poll == OFF -> poll = POLL << failures
        :: else
        fi
    :: call == FOLLOWED && status == FETCHED -> stop_asking(); end_call(BY_RESPONSE)
    :: call == FOLLOWED && status == FETCH_ERROR -> stop_asking(); end_call(BY_ERROR)
    :: call == FOLLOWED && status == TASK_CANCELLED -> on_status(CANCELLED)
    :: call == FOLLOWED && status == CANCEL_ERROR -> ask()
    fi
}

inline at_client() {
    if
    /* P-CLOSED: nothing reaches the application behind the end. */
#if MUTATE == 9
    :: message != END ->
#else
    :: client_phase != CLOSING && client_phase != CLOSED && message != END ->
#endif
        assert(client_phase != CLOSED);
        if
        :: message == PROGRESS -> on_progress()
        :: message == RESPONSE -> on_response(BY_RESPONSE)
        :: message == ERROR -> on_response(BY_ERROR)
        :: message == CREATED -> on_created()
        :: else -> on_poll(message)
        fi
    :: client_phase != CLOSING && client_phase != CLOSED && message == END ->
#if MUTATE == 13
        skip
#else
        close_client()
#endif
    :: else
    fi
}
