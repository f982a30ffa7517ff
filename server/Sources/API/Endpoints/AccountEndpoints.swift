/// Sessions, users, and groups of devices.
enum AccountEndpoints: EndpointGroup {
    static var endpoints: [Endpoint] {
        Endpoint(
            .post, "/v1/login", for: .anybody,
            Description(
                "login", "Begins a session.",
                body: .json(
                    #"""
                    {"type":"object","required":["name","password"],
                    "properties":{"name":{"type":"string"},"password":{"type":"string"}}}
                    """#),
                problems: [400, 401, 405, 413, 415, 503],
                .ok("The session is in the cookie.", Schema.ref("Session")), .tooManyGuesses)
        ) { handlers, call in try await handlers.login.begin(call.request, now: call.wall) }
        Endpoint(
            .post, "/v1/logout", for: .readers,
            Description(
                "logout", "Ends the session.", problems: [400, 401, 403, 404, 405, 409, 413, 503],
                needsSession: true, .done("Ended."))
        ) { handlers, call in try await handlers.login.end(call.request, call.identity) }
        Endpoint(
            .get, "/v1/session", for: .readers,
            Description(
                "session", "Who asks.", .ok("The user.", Schema.ref("Session")))
        ) { _, call in Login.description(of: call.identity) }
        Endpoint(
            .put, "/v1/session/password", for: .readers,
            Description(
                "changePassword", "Gives who asks another password; all sessions end, and a new one begins.",
                body: .json(
                    #"""
                    {"type":"object","required":["current","password"],"properties":{
                    "current":{"type":"string","minLength":1},"password":\#(password)}}
                    """#),
                needsSession: true, .ok("The new session is in the cookie.", Schema.ref("Session")),
                .tooManyGuesses)
        ) { handlers, call in
            try await handlers.login.changePassword(call.request, call.identity, now: call.wall)
        }
        Endpoint(
            .get, "/v1/users", for: .admins,
            Description(
                "users", "All users.",
                .ok(
                    "By name.",
                    Schema.list("users", of: #"{"type":"object","required":["name","role","created"]}"#)))
        ) { handlers, _ in try await handlers.registry.users() }
        Endpoint(
            .post, "/v1/users", for: .admins,
            Description(
                "addUser", "Makes a user.",
                body: .json(
                    #"""
                    {"type":"object","required":["name","role"],
                    "properties":{"name":\#(Schema.ref("Name")),"role":{"enum":["reader","admin"]},
                    "groups":\#(groups)}}
                    """#),
                .created(
                    "With the token, shown only once.",
                    #"{"type":"object","required":["name","role","token"]}"#))
        ) { handlers, call in try await handlers.registry.addUser(call.request, now: call.now) }
        Endpoint(
            .delete, "/v1/users/{name}", for: .admins,
            Description(
                "removeUser", "Removes a user, with token and sessions.", .done("Removed."))
        ) { handlers, _, name in try await handlers.registry.removeUser(name) }
        Endpoint(
            .put, "/v1/users/{name}/password", for: .admins,
            Description(
                "setPassword", "Gives a user a password; sessions end.",
                body: .json(
                    #"{"type":"object","required":["password"],"properties":{"password":\#(password)}}"#),
                .done("Set."))
        ) { handlers, call, name in
            try await handlers.login.setPassword(of: name, call.request, now: call.wall, call.confirm)
        }
        Endpoint(
            .put, "/v1/users/{name}/groups", for: .admins,
            Description(
                "setGroups", "Lets a reader see the devices of some groups, or all.",
                body: .json(
                    #"{"type":"object","required":["groups"],"properties":{"groups":\#(groups)}}"#),
                .done("It counts at once."))
        ) { handlers, call, name in try await handlers.registry.setGroups(of: name, call.request) }
        Endpoint(
            .get, "/v1/groups", for: .admins,
            Description(
                "groups", "Groups of devices.",
                .ok("By name.", Schema.list("groups", of: group)))
        ) { handlers, _ in try await handlers.registry.groups() }
        Endpoint(
            .post, "/v1/groups", for: .admins,
            Description(
                "addGroup", "Makes a group.",
                body: .json(Schema.named), .created("It.", group))
        ) { handlers, call in try await handlers.registry.addGroup(call.request, now: call.now) }
        Endpoint(
            .delete, "/v1/groups/{name}", for: .admins,
            Description(
                "removeGroup", "Removes a group; its devices are in none afterwards.", .done("Removed."))
        ) { handlers, _, name in try await handlers.registry.removeGroup(name) }
    }

    static var schemas: KeyValuePairs<String, String> {
        [
            "Session":
                #"""
            {"type":"object","required":["name","role"],"properties":{"name":{"type":"string"},
            "role":{"type":"string"},"csrf":{"type":"string",
            "description":"For the header X-CSRF-Token of changes."}}}
            """#
        ]
    }

    private static let password =
        #"{"type":"string","minLength":10,"maxLength":200,"pattern":"^[^\\u0000]*$"}"#
    /// What a reader sees.
    private static let groups = Schema.allOr(Schema.ref("Name"), most: 100)
    private static let group = #"""
        {"type":"object","required":["name","created","devices","readers"],"properties":{
        "name":{"type":"string"},"created":\#(Schema.time),"devices":{"type":"integer"},
        "readers":{"type":"integer"}}}
        """#
}
