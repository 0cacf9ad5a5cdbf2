/* Prints each transition between abstract states: the state before it, the action, and the state behind it. */
c_decl {
    extern int q_len(int);
    extern int qrecv(int, int, int, int);
}
c_code {
    static const char *const messages[] = {
        "?", "request", "cancel-request", "get", "fetch", "cancel-task", "cancel-fetch", "progress", "response",
        "error", "created", "working", "completed", "cancelled", "get-error", "fetched", "fetch-error",
        "task-cancelled", "cancel-error", "end"
    };
    static const char *const calls[] = { "none", "open", "task" };
    static const char *const outcomes[] = {
        "?", "result", "error", "idle-timeout", "total-timeout", "cancelled", "closed", "not-sent", "task-left",
        "task-cancelled"
    };
    static const char *const phases[] = { "ready", "draining", "closing", "closed", "gone" };
    static const char *const requests[] = { "none", "processed", "answered", "withdrawn", "ended" };
    static const char *const tasks[] = { "-", "working", "completed", "cancelled" };
    static char source[512];

    static char *put_queue(char *text, int queue, const char *begin, const char *end) {
        int i;
        text += sprintf(text, " %s", begin);
        for (i = 0; i < q_len(queue); i++)
            text += sprintf(text, "%s%s", i ? " " : "", messages[qrecv(queue, i, 0, 0)]);
        return text + sprintf(text, "%s", end);
    }

    static int least(int one, int other) { return one < other ? one : other; }

    static int client_due(void) {
        if (now.client_news || now.client_phase == 2 || (now.client_phase == 1 && now.call != 1)) return 0;
        return least(least(now.idle, now.total), least(now.poll, now.client_deadline));
    }

    static int server_due(void) {
        if (now.server_news || now.server_phase == 2 || (now.server_phase == 1 && now.request != 1)) return 0;
        return now.server_deadline;
    }

    static char *put_side(char *text, int phase, int hung, int due) {
        text += sprintf(text, " %s", phases[phase == 3 && hung ? 4 : phase]);
        if (due == 15) return text + sprintf(text, " -");
        return text + sprintf(text, " %d", due);
    }

    static void put_state(char *text) {
        text += sprintf(text, "%s", now.call == 3 ? outcomes[now.outcome] : calls[now.call]);
        /* Which timer is due next follows from these. */
        if (now.call == 1) text += sprintf(text, ":%d:%d", now.call_ticks, now.quiet_ticks);
        if (now.call == 2) text += sprintf(text, ":%d", now.call_ticks);
        text = put_side(text, now.client_phase, now.client_hung, client_due());
        text = put_queue(text, now.client_out, "[", "]");
        text = put_queue(text, now.up, "(", ")");
        text += sprintf(text, " | %s %s", requests[now.request], tasks[now.task]);
        text = put_side(text, now.server_phase, now.server_hung, server_due());
        text = put_queue(text, now.server_out, "[", "]");
        put_queue(text, now.down, "(", ")");
    }

    static void before(void) { put_state(source); }

    static void after(const char *action) {
        char target[512];
        put_state(target);
        printf("%s -> %s -> %s\n", source, action, target);
    }
}
