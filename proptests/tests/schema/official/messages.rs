//! Every kind of message, with all members of all revisions.

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A request and its results.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) sender: Sender,
    pub(crate) method: &'static str,
    /// The name of the request in the schema.
    pub(crate) request: &'static str,
    pub(crate) params: &'static [&'static str],
    /// The name of the result in the schema.
    pub(crate) result: &'static str,
    pub(crate) results: &'static [&'static str],
}

/// A notification.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) sender: Sender,
    pub(crate) method: &'static str,
    /// The name of the notification in the schema.
    pub(crate) name: &'static str,
    pub(crate) params: &'static [&'static str],
}

macro_rules! icons {
    () => {
        r#""icons":[{"src":"https://example.com/i.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}]"#
    };
}

macro_rules! about {
    () => {
        r#""annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"},"_meta":{"com.example/k":1}"#
    };
}

macro_rules! text {
    () => {
        concat!(r#"{"type":"text","text":"t","#, about!(), "}")
    };
}

macro_rules! image {
    () => {
        concat!(r#"{"type":"image","data":"AAAA","mimeType":"image/png","#, about!(), "}")
    };
}

macro_rules! audio {
    () => {
        concat!(r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav","#, about!(), "}")
    };
}

macro_rules! embedded {
    () => {
        concat!(
            r#"{"type":"resource","resource":{"uri":"x:y","mimeType":"text/plain","text":"t","_meta":{"k":1}},"#,
            about!(),
            "}"
        )
    };
}

macro_rules! link {
    () => {
        concat!(
            r#"{"type":"resource_link","name":"n","title":"T","uri":"x:y","description":"d","mimeType":"text/plain","size":1,"#,
            icons!(), ",", about!(), "}"
        )
    };
}

macro_rules! tool {
    () => {
        concat!(
            r#"{"name":"n","title":"T","description":"d","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"outputSchema":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]},"annotations":{"title":"T","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"execution":{"taskSupport":"forbidden"},"#,
            icons!(), r#","_meta":{"k":1}}"#
        )
    };
}

macro_rules! message {
    ($role:literal, $content:expr) => {
        concat!(
            r#"{"messages":[{"role":""#,
            $role,
            r#"","content":"#,
            $content,
            r#","_meta":{"k":1}}],"maxTokens":1}"#
        )
    };
}

macro_rules! sampled {
    ($content:expr, $reason:literal) => {
        concat!(
            r#"{"role":"assistant","content":"#,
            $content,
            r#","model":"m","stopReason":""#,
            $reason,
            r#"","_meta":{"k":1}}"#
        )
    };
}

macro_rules! prompted {
    ($content:expr) => {
        concat!(
            r#"{"description":"d","messages":[{"role":"user","content":"#,
            $content,
            r#"}],"_meta":{"k":1}}"#
        )
    };
}

macro_rules! content {
    ($content:expr) => {
        concat!(
            r#"{"content":["#,
            $content,
            r#"],"structuredContent":{"b":"c"},"isError":false,"_meta":{"k":1}}"#
        )
    };
}

macro_rules! form {
    ($field:literal) => {
        concat!(
            r#"{"mode":"form","message":"m","requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"f":"#,
            $field, r#"},"required":["f"]},"_meta":{"k":1}}"#
        )
    };
}

const META: &str = r#"{"_meta":{"com.example/k":1}}"#;

const PAGE: &[&str] = &["null", r#"{"cursor":"c","_meta":{"k":1}}"#];

const EMPTY_RESULTS: &[&str] = &["{}", META];

const SAMPLING_RESULTS: &[&str] = &[
    sampled!(text!(), "endTurn"),
    sampled!(image!(), "maxTokens"),
    sampled!(audio!(), "stopSequence"),
    sampled!(concat!("[", text!(), ",", image!(), "]"), "endTurn"),
    sampled!(r#"{"type":"tool_use","id":"1","name":"n","input":{},"_meta":{"k":1}}"#, "toolUse"),
];

/// Every request but `initialize`, which the client writes itself. In the modern revision, requests of a server are
/// requests for input inside a result.
pub(crate) const REQUESTS: &[Exchange] = &[
    Exchange {
        sender: Sender::Client,
        method: "server/discover",
        request: "DiscoverRequest",
        params: &["null", META],
        result: "DiscoverResult",
        // The server responds itself.
        results: &[],
    },
    Exchange {
        sender: Sender::Client,
        method: "subscriptions/listen",
        request: "SubscriptionsListenRequest",
        params: &[
            r#"{"notifications":{}}"#,
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":false,"resourceSubscriptions":["x:y"]},"_meta":{"k":1}}"#,
        ],
        result: "SubscriptionsListenResult",
        results: EMPTY_RESULTS,
    },
    Exchange {
        sender: Sender::Client,
        method: "tools/list",
        request: "ListToolsRequest",
        params: PAGE,
        result: "ListToolsResult",
        results: &[
            concat!(r#"{"tools":["#, tool!(), r#"],"nextCursor":"c","_meta":{"k":1}}"#),
            r#"{"tools":[{"name":"n","inputSchema":{"type":"object","allOf":[true],"$defs":{}},"outputSchema":{"type":["array","null"],"items":{}}}],"ttlMs":1,"cacheScope":"public"}"#,
        ],
    },
    Exchange {
        sender: Sender::Client,
        method: "tools/call",
        request: "CallToolRequest",
        params: &[r#"{"name":"n"}"#, r#"{"name":"n","arguments":{"a":1},"_meta":{"k":1}}"#],
        result: "CallToolResult",
        results: &[
            content!(text!()),
            content!(image!()),
            content!(audio!()),
            content!(embedded!()),
            content!(link!()),
            content!(""),
            r#"{"content":[],"structuredContent":null}"#,
            r#"{"content":[],"structuredContent":[1.5,"a",{}]}"#,
        ],
    },
    Exchange {
        sender: Sender::Client,
        method: "resources/list",
        request: "ListResourcesRequest",
        params: PAGE,
        result: "ListResourcesResult",
        results: &[concat!(
            r#"{"resources":[{"uri":"x:y","name":"n","title":"T","description":"d","mimeType":"text/plain","size":1,"#,
            icons!(),
            ",",
            about!(),
            r#"}],"nextCursor":"c","_meta":{"k":1}}"#
        )],
    },
    Exchange {
        sender: Sender::Client,
        method: "resources/templates/list",
        request: "ListResourceTemplatesRequest",
        params: PAGE,
        result: "ListResourceTemplatesResult",
        results: &[concat!(
            r#"{"resourceTemplates":[{"uriTemplate":"x:{y}","name":"n","title":"T","description":"d","mimeType":"text/plain","#,
            icons!(),
            ",",
            about!(),
            r#"}],"nextCursor":"c","_meta":{"k":1}}"#
        )],
    },
    Exchange {
        sender: Sender::Client,
        method: "resources/read",
        request: "ReadResourceRequest",
        params: &[r#"{"uri":"x:y","_meta":{"k":1}}"#],
        result: "ReadResourceResult",
        results: &[
            r#"{"contents":[{"uri":"x:y","mimeType":"text/plain","text":"t","_meta":{"k":1}}],"_meta":{"k":1}}"#,
            r#"{"contents":[{"uri":"x:y","mimeType":"image/png","blob":"AAAA","_meta":{"k":1}}]}"#,
        ],
    },
    Exchange {
        sender: Sender::Client,
        method: "resources/subscribe",
        request: "SubscribeRequest",
        params: &[r#"{"uri":"x:y","_meta":{"k":1}}"#],
        result: "EmptyResult",
        results: EMPTY_RESULTS,
    },
    Exchange {
        sender: Sender::Client,
        method: "resources/unsubscribe",
        request: "UnsubscribeRequest",
        params: &[r#"{"uri":"x:y","_meta":{"k":1}}"#],
        result: "EmptyResult",
        results: EMPTY_RESULTS,
    },
    Exchange {
        sender: Sender::Client,
        method: "prompts/list",
        request: "ListPromptsRequest",
        params: PAGE,
        result: "ListPromptsResult",
        results: &[concat!(
            r#"{"prompts":[{"name":"n","title":"T","description":"d","arguments":[{"name":"a","title":"A","description":"d","required":true}],"#,
            icons!(),
            r#","_meta":{"k":1}}],"nextCursor":"c","_meta":{"k":1}}"#
        )],
    },
    Exchange {
        sender: Sender::Client,
        method: "prompts/get",
        request: "GetPromptRequest",
        params: &[r#"{"name":"n","arguments":{"a":"b"},"_meta":{"k":1}}"#],
        result: "GetPromptResult",
        results: &[
            prompted!(text!()),
            prompted!(image!()),
            prompted!(audio!()),
            prompted!(embedded!()),
            prompted!(link!()),
        ],
    },
    Exchange {
        sender: Sender::Client,
        method: "completion/complete",
        request: "CompleteRequest",
        params: &[
            r#"{"ref":{"type":"ref/prompt","name":"n","title":"T"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"c"}},"_meta":{"k":1}}"#,
            r#"{"ref":{"type":"ref/resource","uri":"x:{y}"},"argument":{"name":"y","value":""}}"#,
        ],
        result: "CompleteResult",
        results: &[r#"{"completion":{"values":["v"],"total":2,"hasMore":true},"_meta":{"k":1}}"#],
    },
    Exchange {
        sender: Sender::Client,
        method: "logging/setLevel",
        request: "SetLevelRequest",
        params: &[r#"{"level":"notice","_meta":{"k":1}}"#],
        result: "EmptyResult",
        results: EMPTY_RESULTS,
    },
    Exchange {
        sender: Sender::Client,
        method: "ping",
        request: "PingRequest",
        params: &["null", META],
        result: "EmptyResult",
        results: &[],
    },
    Exchange {
        sender: Sender::Server,
        method: "ping",
        request: "PingRequest",
        params: &["null", META],
        result: "EmptyResult",
        results: &[],
    },
    Exchange {
        sender: Sender::Server,
        method: "roots/list",
        request: "ListRootsRequest",
        params: &["null", META],
        result: "ListRootsResult",
        results: &[r#"{"roots":[{"uri":"file:///a","name":"n","_meta":{"k":1}}],"_meta":{"k":1}}"#],
    },
    Exchange {
        sender: Sender::Server,
        method: "sampling/createMessage",
        request: "CreateMessageRequest",
        params: &[
            r#"{"messages":[],"maxTokens":1,"modelPreferences":{"hints":[{"name":"h"}],"costPriority":0,"speedPriority":0.5,"intelligencePriority":1},"systemPrompt":"s","includeContext":"thisServer","temperature":0.5,"stopSequences":["x"],"metadata":{"m":1},"_meta":{"k":1}}"#,
            message!("user", text!()),
            message!("assistant", image!()),
            message!("user", audio!()),
            message!("user", concat!("[", text!(), ",", image!(), "]")),
            r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{"a":1},"_meta":{"k":1}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"t"}],"structuredContent":{"b":1},"isError":false,"_meta":{"k":1}}]}],"maxTokens":1}"#,
            concat!(
                r#"{"messages":[],"maxTokens":1,"tools":["#,
                tool!(),
                r#"],"toolChoice":{"mode":"required"}}"#
            ),
        ],
        result: "CreateMessageResult",
        results: SAMPLING_RESULTS,
    },
    Exchange {
        sender: Sender::Server,
        method: "elicitation/create",
        request: "ElicitRequest",
        params: &[
            form!(
                r#"{"type":"string","title":"T","description":"d","minLength":1,"maxLength":9,"format":"email","default":"a@b.c"}"#
            ),
            form!(
                r#"{"type":"integer","title":"T","description":"d","minimum":1,"maximum":9,"default":2}"#
            ),
            form!(r#"{"type":"boolean","title":"T","description":"d","default":true}"#),
            form!(
                r#"{"type":"string","title":"T","description":"d","enum":["a"],"enumNames":["A"],"default":"a"}"#
            ),
            form!(
                r#"{"type":"string","title":"T","description":"d","oneOf":[{"const":"a","title":"A"}],"default":"a"}"#
            ),
            form!(
                r#"{"type":"array","title":"T","description":"d","minItems":0,"maxItems":1,"items":{"type":"string","enum":["a"]},"default":["a"]}"#
            ),
            form!(r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#),
            r#"{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"e","_meta":{"k":1}}"#,
        ],
        result: "ElicitResult",
        results: &[
            r#"{"action":"accept","content":{"s":"t","n":1,"b":true},"_meta":{"k":1}}"#,
            r#"{"action":"accept","content":{"l":["a"]}}"#,
            r#"{"action":"decline"}"#,
            r#"{"action":"cancel"}"#,
        ],
    },
];

/// Every notification of an application; clients and servers write the others themselves.
pub(crate) const NOTIFICATIONS: &[Notice] = &[
    Notice {
        sender: Sender::Server,
        method: "notifications/message",
        name: "LoggingMessageNotification",
        params: &[
            r#"{"level":"emergency","logger":"l","data":{"a":1},"_meta":{"k":1}}"#,
            r#"{"level":"error","data":null}"#,
        ],
    },
    Notice {
        sender: Sender::Server,
        method: "notifications/resources/updated",
        name: "ResourceUpdatedNotification",
        params: &[r#"{"uri":"x:y","_meta":{"k":1}}"#],
    },
    Notice {
        sender: Sender::Server,
        method: "notifications/resources/list_changed",
        name: "ResourceListChangedNotification",
        params: &["null", META],
    },
    Notice {
        sender: Sender::Server,
        method: "notifications/tools/list_changed",
        name: "ToolListChangedNotification",
        params: &["null", META],
    },
    Notice {
        sender: Sender::Server,
        method: "notifications/prompts/list_changed",
        name: "PromptListChangedNotification",
        params: &["null", META],
    },
    Notice {
        sender: Sender::Client,
        method: "notifications/roots/list_changed",
        name: "RootsListChangedNotification",
        params: &["null", META],
    },
];
