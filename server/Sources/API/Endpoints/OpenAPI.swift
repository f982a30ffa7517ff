internal import Envelope
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// `GET /v1/openapi.json`: what this server understands (OpenAPI 3.1), put together from the descriptions of all endpoints.
enum OpenAPI {
    static var response: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: document))
    }

    private static let document = ByteBuffer(string: text(of: Endpoints.all) + "\n")

    private static func text(of endpoints: [Endpoint]) -> String {
        var templates: [String] = []
        for endpoint in endpoints where !templates.contains(endpoint.template) {
            templates.append(endpoint.template)
        }
        let paths = templates.map { template in
            object(of: endpoints.filter { $0.template == template }, at: template)
        }
        let schemas =
            (Endpoints.groups.flatMap { group in group.schemas.map { ($0.key, $0.value) } } + common).map {
                #""\#($0)":\#($1)"#
            }
        let problems = problems.map { #""\#($0)":{"description":"\#($1)","content":{\#(problem)}}"# }
        return #"""
            {"openapi":"3.1.0","info":{"title":"beekon-server","version":"\#(ServerOptions.version)",
            "description":"The backend of beekond: uploads, devices and where they have been."},
            "paths":{
            \#(paths.joined(separator: ",\n"))
            },"components":{"schemas":{
            \#(schemas.joined(separator: ",\n"))
            },"responses":{
            \#(problems.joined(separator: ",\n"))
            },"securitySchemes":{
            "link":{"type":"http","scheme":"bearer","description":"The secret of a link, which stands behind the # of its address."},
            "device":{"type":"http","scheme":"bearer","description":"The access token of a device."},
            "token":{"type":"http","scheme":"bearer","description":"The token of a user."},
            "session":{"type":"apiKey","in":"cookie","name":"\#(Gatekeeper.cookie)"}}}}
            """#
    }

    private static func object(of endpoints: [Endpoint], at template: String) -> String {
        var members = endpoints.map { #""\#($0.method.rawValue.lowercased())":\#(operation($0))"# }
        let parameters = (endpoints.first?.parameters ?? []).map {
            #"{"name":"\#($0.name)","in":"path","required":true,"schema":\#($0.schema)}"#
        }
        if !parameters.isEmpty {
            members.insert(#""parameters":[\#(parameters.joined(separator: ","))]"#, at: 0)
        }
        return #""\#(template)":{\#(members.joined(separator: ",\n"))}"#
    }

    private static func operation(_ endpoint: Endpoint) -> String {
        let description = endpoint.description
        let security =
            description.needsSession ? #"[{"session":[]}]"# : Self.security(endpoint.audience)
        var members = [
            #""operationId":"\#(description.id)","summary":\#(quoted(description.summary)),"security":\#(security)"#
        ]
        if !description.query.isEmpty {
            let query = description.query.map {
                #"{"name":"\#($0.name)","in":"query","required":false,"description":\#(quoted($0.text)),"#
                    + #""schema":\#($0.schema)}"#
            }
            members.append(#""parameters":[\#(query.joined(separator: ","))]"#)
        }
        if let body = description.body {
            members.append(#""requestBody":{"required":\#(body.isRequired),"content":{\#(body.content)}}"#)
        }
        let answers =
            description.answers.map { answer in
                let content = answer.content.map { #","content":{\#($0)}"# } ?? ""
                return #""\#(answer.code)":{"description":\#(quoted(answer.text))\#(content)}"#
            }
            + problems(of: endpoint).map { ##""\##($0)":{"$ref":"#/components/responses/\##($0)"}"## }
        members.append(#""responses":{\#(answers.joined(separator: ","))}"#)
        return "{" + members.joined(separator: ",\n") + "}"
    }

    private static func security(_ audience: Audience) -> String {
        switch audience {
        case .anybody: "[]"
        case .devices: #"[{"device":[]}]"#
        case .guests: #"[{"link":[]}]"#
        case .readers, .admins, .local: #"[{"token":[]},{"session":[]}]"#
        }
    }

    private static func problems(of endpoint: Endpoint) -> [Int] {
        if let problems = endpoint.description.problems { return problems }
        return switch endpoint.audience {
        case .anybody: [405]
        case .devices: [400, 401, 403, 405, 413, 415, 503]
        case .guests: [401, 403, 405, 503]
        case .readers, .admins, .local:
            [400, 401, 403, 404, 405, 503] + (endpoint.description.body == nil ? [] : [409, 413])
        }
    }

    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONString.append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let problem = #""application/problem+json":{"schema":\#(Schema.ref("Problem"))}"#

    private static let problems = [
        (400, "The request is wrong."), (401, "Nobody who is known."), (403, "Not for who asks."),
        (404, "There is no such thing."), (405, "The path has no such method."),
        (409, "It does not fit what is there."), (413, "Too large."),
        (415, "Of a type that is not taken."), (503, "Later: Retry-After says when."),
    ]

    /// Schemas that endpoints of several groups refer to.
    private static let common = [
        (
            "Name",
            #"""
            {"type":"string","minLength":1,"maxLength":100,
            "pattern":"^(?!\\.\\.?$)[^/\\u0000-\\u001f\\u007f-\\u009f\\ufdd0-\\ufdef\\ufffe\\uffff]+$"}
            """#
        ),
        (
            "Problem",
            #"""
            {"type":"object","required":["type","title","status","detail"],"properties":{
            "type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},
            "detail":{"type":"string"},
            "pointer":{"type":"string","description":"JSON pointer to the field that is wrong."},
            "index":{"type":"integer","description":"The location or event that is wrong."}}}
            """#
        ),
    ]
}
