/// What the OpenAPI document says of an endpoint, beside what follows from its path and from who may use it.
struct Description: Sendable {
    /// What a request brings.
    struct Body {
        let content: String
        var isRequired = true

        static let text = Body(content: #""text/plain":{"schema":\#(Schema.text)}"#, isRequired: false)

        static func json(_ schema: String) -> Body { Body(content: Schema.json(schema)) }

        static func jsonOrForm(_ schema: String) -> Body {
            Body(
                content: Schema.json(schema) + #","application/x-www-form-urlencoded":{"schema":\#(schema)}"#)
        }
    }

    /// A parameter behind the `?`.
    struct Query {
        let name: String
        let text: String
        let schema: String

        static func named(_ name: String, _ text: String, _ schema: String) -> Query {
            Query(name: name, text: text, schema: schema)
        }

        static let from = named("from", "The first moment.", Schema.time)
        static let to = named("to", "The last moment.", Schema.time)
        static let limit = named(
            "limit", "At most so many.", #"{"type":"integer","minimum":1,"maximum":1000000}"#)
        static let device = named("device", "Of this vehicle alone.", Schema.id)
        static let group = named("group", "Of vehicles of this group alone.", Schema.name)
        static let before = named(
            "before", "The cursor of an element: those behind it.",
            #"{"type":"string","pattern":"^[0-9]{1,15}[.][0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}"#)
        static let page = named(
            "limit", "At most so many; 100, if nothing else is asked for.",
            #"{"type":"integer","minimum":1,"maximum":1000}"#)
    }

    /// What is answered when nothing is wrong, or in words of its own when something is.
    struct Answer {
        let code: Int
        let text: String
        /// nil: no body.
        let content: String?

        static func status(_ code: Int, _ text: String, content: String? = nil) -> Answer {
            Answer(code: code, text: text, content: content)
        }

        static func ok(_ text: String, _ schema: String) -> Answer {
            status(200, text, content: Schema.json(schema))
        }

        static func ok(_ text: String, as mediaType: String) -> Answer {
            status(200, text, content: #""\#(mediaType)":{"schema":\#(Schema.text)}"#)
        }

        static func created(_ text: String, _ schema: String) -> Answer {
            status(201, text, content: Schema.json(schema))
        }

        /// Tokens of a device, as JSON or as lines for its beekond.toml.
        static func tokens(_ text: String) -> Answer {
            let lines = #","application/toml":{"schema":\#(Schema.text)}"#
            return status(201, text, content: Schema.json(Schema.ref("Tokens")) + lines)
        }

        static func done(_ text: String) -> Answer { status(204, text) }

        static let tooManyGuesses = status(
            429, "Too many wrong passwords; Retry-After tells when to try again.",
            content: #""application/problem+json":{"schema":\#(Schema.ref("Problem"))}"#)
    }

    /// The `operationId`, for clients that are generated.
    let id: String
    let summary: String
    let query: [Query]
    let body: Body?
    /// Codes of what may be wrong; nil: those that are usual for who may use it.
    let problems: [Int]?
    /// Who shows a token may use it, and it is of no use to them.
    let needsSession: Bool
    let answers: [Answer]

    init(
        _ id: String, _ summary: String, query: [Query] = [], body: Body? = nil, problems: [Int]? = nil,
        needsSession: Bool = false, _ answers: Answer...
    ) {
        self.id = id
        self.summary = summary
        self.query = query
        self.body = body
        self.problems = problems
        self.needsSession = needsSession
        self.answers = answers
    }
}

/// Schemas that stand in many places, as JSON.
enum Schema {
    static let text = #"{"type":"string"}"#
    static let anyObject = #"{"type":"object"}"#
    static let time = #"{"type":"string","format":"date-time","description":"RFC 3339"}"#
    static let id = #"{"type":"integer","format":"int64","minimum":1,"maximum":9223372036854775807}"#
    static let name = #"{"type":"string","minLength":1,"maxLength":100}"#

    /// An object with a name alone.
    static let named = #"{"type":"object","required":["name"],"properties":{"name":\#(ref("Name"))}}"#

    /// A text for people, which may be empty.
    static func words(_ longest: Int) -> String {
        #"{"type":"string","maxLength":\#(longest),"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"}"#
    }

    static func ref(_ name: String) -> String { ##"{"$ref":"#/components/schemas/\##(name)"}"## }

    static func word(of words: [String]) -> String {
        #"{"enum":[\#(words.map { "\"\($0)\"" }.joined(separator: ","))]}"#
    }

    /// The word `all`, or some of these.
    static func allOr(_ words: [String]) -> String { allOr(word(of: words), most: words.count) }

    /// The word `all`, or a list.
    static func allOr(_ element: String, most: Int) -> String {
        #"{"oneOf":[{"const":"all"},{"type":"array","maxItems":\#(most),"items":\#(element)}]}"#
    }

    /// An object with a list alone.
    static func list(_ name: String, of element: String) -> String {
        #"{"type":"object","required":["\#(name)"],"properties":{"\#(name)":{"type":"array","items":\#(element)}}}"#
    }

    /// The content of a body of JSON.
    static func json(_ schema: String) -> String { #""application/json":{"schema":\#(schema)}"# }
}
