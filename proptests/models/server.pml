/* The rules of the server. request.pml has its state. */

/* P-ANSWER: one response at most, and none for a cancelled request. */
inline answer(how) {
    assert(!was_answered && !was_notified);
    was_answered = true;
    server_out!how
}

inline end_server() {
    if
#if MUTATE == 11
    :: (request == PROCESSED || request == WITHDRAWN) && server_phase == DRAINING -> answer(ERROR); request = ENDED
#else
    :: request == PROCESSED && server_phase == DRAINING -> answer(ERROR); request = ENDED
#endif
    :: request == PROCESSED && server_phase == CLOSING -> request = ENDED
    :: else
    fi;
    if
    :: server_hung -> clear(server_out)
    :: else
    fi;
    server_phase = CLOSED;
    server_deadline = OFF;
    task = NONE;
    assert(request != PROCESSED)
}

inline close_server() {
    server_phase = CLOSING;
    server_deadline = OFF;
    server_news = false;
    if
    :: !server_hung -> server_hung = true; down!END
    :: else
    fi
}

#define SERVER_IS_QUIET (request != PROCESSED)

inline settle_server() {
    server_news = false;
    if
    :: server_phase == CLOSING -> end_server()
    :: server_phase == DRAINING && (SERVER_IS_QUIET || server_deadline == 0) -> end_server()
    :: else
    fi
}

inline begin_drain(how_long) {
    if
    :: server_phase == READY ->
        server_phase = DRAINING;
        server_deadline = (MUTATE == 18 -> OFF : how_long);
        server_news = true
    :: server_phase == DRAINING -> least(server_deadline, how_long)
    :: else
    fi
}

inline on_request() {
    /* P-WITHDRAWN: the server never receives a request that was withdrawn. */
    assert(!was_withdrawn && !was_received);
    was_received = true;
    if
    :: server_phase == READY -> request = PROCESSED
    :: server_phase == DRAINING -> answer(ERROR); request = ANSWERED
    fi
}

inline on_cancellation() {
    /* P-KNOWN: a cancellation names a request that was sent before. A request for a task is not cancelled so. */
    assert(was_received && !TASK);
    if
    :: request == PROCESSED ->
#if MUTATE == 3
        skip
#else
        request = WITHDRAWN;
#endif
        was_notified = true;
        sift(server_out, PROGRESS, (MUTATE != 21))
    :: else
    fi
}

inline about_task() {
    if
    :: message == GET && server_phase == DRAINING -> server_out!GET_ERROR
    :: message == FETCH && server_phase == DRAINING -> server_out!FETCH_ERROR
    :: message == CANCEL_TASK && server_phase == DRAINING -> server_out!CANCEL_ERROR
    :: message == GET && server_phase == READY && task == T_WORKING -> server_out!WORKING
    :: message == GET && server_phase == READY && task == T_COMPLETED -> server_out!COMPLETED
    :: message == GET && server_phase == READY && task == T_CANCELLED -> server_out!CANCELLED
    :: message == FETCH && server_phase == READY ->
        /* The client fetches the result of a task that has completed, which is final. */
        assert(task == T_COMPLETED);
        server_out!FETCHED
    :: message == CANCEL_TASK && server_phase == READY ->
        if
#if MUTATE == 17
        :: task != NONE ->
#else
        :: task == T_WORKING ->
#endif
            /* P-FINAL: the final status of a task does not change. */
            assert(task == T_WORKING);
            task = T_CANCELLED;
            server_out!TASK_CANCELLED
        :: else -> server_out!CANCEL_ERROR
        fi
    /* The response to that request was sent as soon as it came. */
    :: message == CANCEL_FETCH -> skip
    fi
}

inline at_server() {
    if
    :: message == END -> begin_drain(DRAIN)
#if MUTATE == 10
    :: message != END ->
#else
    :: message != END && (server_phase == READY || server_phase == DRAINING) ->
#endif
        assert(server_phase != CLOSED && server_phase != CLOSING);
        if
        :: message == REQUEST -> on_request()
        :: message == CANCEL_REQUEST -> on_cancellation()
        :: else -> about_task()
        fi
    :: else
    fi
}
