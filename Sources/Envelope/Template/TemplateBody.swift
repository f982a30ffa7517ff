/// How a record becomes bytes.
package enum TemplateBody: String, CaseIterable, Sendable {
    /// An object or an array, alone or among others.
    case json
    /// A flat object, whose members become parameters: of a form, or of a url.
    case form
    /// A line of InfluxDB's line protocol.
    case text

    /// What the header says unless the configuration does.
    package var contentType: String {
        switch self {
        case .json: "application/json"
        case .form: "application/x-www-form-urlencoded"
        case .text: "text/plain; charset=utf-8"
        }
    }
}
