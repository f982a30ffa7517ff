/// Templates that must not load: each with a ‸ before the character that the message must point at.
package enum BrokenTemplates {
    /// By what the message must say.
    package static let table: [(reason: String, templates: [String])] = [
        (
            "stands for a whole value and cannot go on with another",
            [
                #"{"a": 1‸<%= latitude %>}"#,
                #"{"a": -‸<%= speed %>}"#,
                #"{"a": 1.‸<%= latitude %>}"#,
                #"{"a": 1.5‸<%= latitude %>}"#,
                #"{"a": 1e‸<%= latitude %>}"#,
                #"{"a": 1e-‸<%= latitude %>}"#,
                #"{"a": 1 ‸<%= latitude %>}"#,
                #"{"a": 0‸<%= mock %>}"#,
                #"{"a": true‸<%= mock %>}"#,
                #"{"a": null ‸<%= mock %>}"#,
                #"{"a": "x"‸<%= mock %>}"#,
                #"{"a": "x" ‸<%= timestamp %>}"#,
                #"{"a": {}‸<%= speed %>}"#,
                #"{"a": [1]‸<%= speed %>}"#,
                #"{"a": <%= latitude %>‸<%= longitude %>}"#,
                #"{"a": <%= latitude %> ‸<%= longitude %>}"#,
                #"[<%= latitude %> ‸<%= longitude %>]"#,
                #"[1‸<%= longitude %>]"#,
                #"[+‸<%= longitude %>]"#,
                #"[.‸<%= longitude %>]"#,
                "[1,\n 2‸<%= longitude %>]",
                "[\"é😀\", 2‸<%= longitude %>]",
            ]
        ),
        (
            "a whole value, and more follows it",
            [
                #"{"a": <%= latitude %>‸1}"#,
                #"{"a": <%= latitude %>‸.5}"#,
                #"{"a": <%= latitude %>‸e5}"#,
                #"{"a": <%= latitude %>‸-1}"#,
                #"{"a": <%= latitude %> ‸m}"#,
                #"{"a": <%= speed %>‸"x"}"#,
                #"{"a": <%= mock %>‸true}"#,
                #"[<%= speed %> ‸{}]"#,
                #"[<%= speed %> ‸* 3.6]"#,
                #"[<%= speed %> ‸/ 2]"#,
            ]
        ),
        (
            "is a text, so its tag stands inside quotation marks",
            [
                #"{"a": ‸<%= timestamp %>}"#,
                #"{"a": ‸<%= uuid %>}"#,
                #"{"a": ‸<%= event %>}"#,
                #"{"a": ‸<%= activity.type %>}"#,
                #"{"a": ‸<%= device_id %>}"#,
                #"{"a": ‸<%= install_id %>}"#,
                #"{"a": ‸<%= session_id %>}"#,
                #"{"a": ‸<%=timestamp%>}"#,
                #"[‸<%= timestamp %>]"#,
                #"[[1, {"x": [‸<%= event %>]}]]"#,
                "{\n  \"a\": 1,\n  \"b\": ‸<%= timestamp %>\n}",
                "{\r\n  \"a\": ‸<%= timestamp %>\r\n}",
            ]
        ),
        (
            "there is no tag",
            [
                #"{"a": ‸<%= lattitude %>}"#,
                #"{"a": ‸<%= Latitude %>}"#,
                #"{"a": ‸<%= isMoving %>}"#,
                #"{"a": ‸<%= bearing %>}"#,
                #"{"a": ‸<%= altitude_accuracy %>}"#,
                #"{"a": ‸<%= timestampMeta %>}"#,
                #"{"a": "‸<%= time %>"}"#,
                #"{"a": "x ‸<%= id %>"}"#,
                #"{"a": "<%= event %>‸<%= evnt %>"}"#,
                #"{"a": ‸<%= coords.latitude %>}"#,
                #"{"a": ‸<%= battery %>}"#,
                #"{"a": ‸<%= battery_level %>}"#,
                #"{"a": ‸<%= activity_type %>}"#,
                #"{"a": ‸<%= xyzzy %>}"#,
                #"{"a": ‸<%= 1 %>}"#,
                #"{"a": ‸<%= . %>}"#,
                #"{"a": ‸<%= latitude.round %>}"#,
                #"["é😀 ", ‸<%= lat %>]"#,
            ]
        ),
        (
            "is known of geofence events only",
            [
                #"{"a": "‸<%= geofence.identifier %>"}"#,
                #"{"a": "‸<%= geofence.action %>"}"#,
                #"{"a": ‸<%= geofence.action %>}"#,
            ]
        ),
        (
            "this tag does not end",
            [
                #"{"a": ‸<%= latitude}"#,
                #"{"a": ‸<%= latitude >}"#,
                #"{"a": ‸<%= latitude %}"#,
                #"{"a": ‸<%= latitude % >}"#,
                #"{"a": ‸<%="#,
                #"{"a": ‸<%=  "#,
                #"{"a": "‸<%= event"}"#,
                #"{"a": "‸<%= event", "b": "<%= event %>"}"#,
                #"{"a": ‸<%= <%= latitude %> %>}"#,
                "{\"a\": ‸<%= latitude\n %>}",
                #"[1, ‸<%= é"#,
            ]
        ),
        (
            "a tag holds one name and nothing else",
            [
                #"{"a": ‸<%= latitude * 2 %>}"#,
                #"{"a": ‸<%= latitude.round(2) %>}"#,
                #"{"a": ‸<%= speed || 0 %>}"#,
                #"{"a": ‸<%= latitude longitude %>}"#,
                #"{"a": ‸<%= latitude -%>}"#,
                #"{"a": ‸<%= -speed %>}"#,
                #"{"a": ‸<%= "latitude" %>}"#,
                #"{"a": "‸<%= event ? event : 1 %>"}"#,
                #"{"a": ‸<%== latitude %>}"#,
                #"{"a": ‸<%= battery['level'] %>}"#,
                #"{"a": ‸<%= è %>}"#,
            ]
        ),
        (
            "this tag has no name",
            [#"{"a": ‸<%=%>}"#, #"{"a": ‸<%=   %>}"#, #"{"a": "‸<%= %>"}"#]
        ),
        (
            "a tag begins with <%=",
            [
                #"{"a": ‸<% latitude %>}"#,
                #"{"a": ‸<%latitude%>}"#,
                #"{"a": "‸<% event %>"}"#,
                #"{"a": "‸<%# no %>"}"#,
                #"{"a": "50 ‸<% 60"}"#,
            ]
        ),
        (
            "%> ends a tag that did not begin",
            [
                #"{"a": "event ‸%>"}"#,
                #"{"a": "<= event ‸%>"}"#,
                #"{"a": "< %= event ‸%>"}"#,
                #"{"a": "<%= event %> ‸%>"}"#,
            ]
        ),
        (
            "a tag cannot",
            [
                #"{‸<%= event %>: 1}"#,
                #"{"‸<%= event %>": 1}"#,
                #"{"a ‸<%= event %>": 1}"#,
                #"{"a": 1, ‸<%= latitude %>}"#,
                #"{"a": {"b": 1, "‸<%= uuid %>": 2}}"#,
            ]
        ),
        (
            "names stand in quotation marks",
            [
                #"{‸lat: <%= latitude %>}"#,
                #"{"lat":<%= latitude %>,"event":"<%= event %>",‸isMoving:<%= is_moving %>}"#,
                #"{‸1: 2}"#,
                "{\n\n  ‸a: 1}",
                #"{"a": {‸b: 1}}"#,
            ]
        ),
        (
            "stands twice in this object",
            [
                #"{"a": 1, ‸"a": 2}"#,
                #"{"a": 1, "b": 2, ‸"a": 3}"#,
                #"{"a": 1, ‸"\u0061": 2}"#,
                #"{"é": 1, ‸"\u00e9": 2}"#,
                #"{"😀": 1, ‸"\ud83d\ude00": 2}"#,
                #"{"": 1, ‸"": 2}"#,
                #"{"x": {"a": 1, ‸"a": 2}}"#,
                #"[{"a": 1, ‸"a": <%= latitude %>}]"#,
                #"{"extras": {}, ‸"extras": {}}"#,
                "{\"a\": 1,\n ‸\"a\": 2}",
            ]
        ),
        (
            "after a name, a colon",
            [
                #"{"a"‸}"#, #"{"a" ‸1}"#, #"{"a"‸, "b": 1}"#, #"{"a" ‸= 1}"#, #"{"a" ‸=> 1}"#,
                #"{"a"‸"#, #"{"a" ‸<%= latitude %>}"#,
            ]
        ),
        (
            "a comma stands before the end",
            [
                #"{"a": 1‸,}"#, #"[1‸, ]"#, #"{"a": [1‸,]}"#, #"{"a": {"b": 1‸,}}"#, "{\"a\": 1‸,\n}",
                #"[<%= latitude %>‸,]"#,
            ]
        ),
        (
            "a value is missing before",
            [
                #"{"a": ‸}"#, #"{"a": ‸, "b": 1}"#, #"[‸,]"#, #"[1, ‸, 2]"#, #"{"a": [1, ‸}"#, #"[‸}"#,
                #"{"a": ‸: 1}"#,
            ]
        ),
        (
            "a comma stands where a name belongs",
            [#"{‸,"a": 1}"#, #"{"a": 1, ‸, "b": 2}"#]
        ),
        (
            "is not closed",
            [
                #"{"a": 1‸"#, #"[1‸"#, "[1\n‸", #"{"a": {"b": 1}‸"#, #"{"a": [1, 2‸"#,
                #"{"a": <%= latitude %>‸"#,
                #"[<%= latitude %> ‸"#, #"{"a": ‸"x}"#, #"{‸"a: 1}"#, #"{"a": ‸"x\""#,
                #"["<%= event %>", ‸"<%= event %>]"#, #"[‸"\"#,
            ]
        ),
        (
            "is missing at the end",
            [
                #"{‸"#, #"[‸"#, #"{"a":‸"#, #"{"a": 1,‸"#, #"[1, ‸"#, #"{"a": {‸"#, "{\n\n‸",
            ]
        ),
        (
            "cannot end an",
            [
                #"{"a": 1‸]"#, #"[1‸}"#, #"{"a": [1, 2‸}}"#, #"[{"a": 1‸]]"#, #"[<%= latitude %>‸}"#,
            ]
        ),
        (
            "a colon cannot follow a value",
            [#"["a"‸: 1]"#, #"{"a": 1‸: 2}"#, #"[<%= latitude %>‸: 1]"#, #"{"a": "b" ‸: 1}"#]
        ),
        (
            "stands where a comma belongs",
            [
                #"{"a": 1 ‸"b": 2}"#, #"["a" ‸"b"]"#, #"[1 ‸2]"#, #"[{} ‸{}]"#, #"{"a": 1‸; "b": 2}"#,
                #"{"a": true ‸false}"#, #"[1 ‸// one]"#, #"[1‸< 2]"#,
                #"{"a": "x"‸'}"#, "[1‸\u{A0},2]", "{\"a\": 1\n‸\"b\": 2}",
            ]
        ),
        (
            "stands where a value belongs",
            [
                #"{"a": ‸'x'}"#, #"{"a": ‸“x”}"#, #"{"a": ‸< %= latitude %>}"#, #"{"a": ‸/* x */ 1}"#,
                #"{"a": ‸// x"#, #"{"a": ‸# x"#, #"{"a": ‸$latitude}"#, #"{"a": ‸@latitude}"#,
                #"{"a": ‸%= latitude %>}"#, #"{"a": ‸(1)}"#, #"{"a": ‸\"x\"}"#, #"{"a": ‸é}"#,
                "{\"a\": ‸\u{1}}",
                "{\"a\":‸\u{A0}1}", "[‸\u{2028}1]", "[‸\u{0}]",
            ]
        ),
        (
            "stands where a name belongs",
            [
                #"{‸'a': 1}"#, #"{‸“a”: 1}"#, #"{‸{}: 1}"#, #"{‸[1]}"#, #"{‸/* x */ "a": 1}"#,
                #"{"a": 1, ‸// b"#,
                #"{‸-1: 1}"#, #"{‸: 1}"#, #"{‸]"#, "{‸\u{FEFF}\"a\": 1}",
            ]
        ),
        (
            "is no JSON value",
            [
                #"{"a": ‸True}"#, #"{"a": ‸FALSE}"#, #"{"a": ‸None}"#, #"{"a": ‸nil}"#, #"{"a": ‸undefined}"#,
                #"{"a": ‸NaN}"#, #"{"a": ‸Infinity}"#, #"{"a": ‸latitude}"#, #"{"a": ‸hello}"#,
                #"[‸truefalse]"#,
                #"[‸nul]"#, #"[‸_]"#,
            ]
        ),
        (
            "is no JSON number",
            [
                #"{"a": ‸01}"#, #"{"a": ‸-01}"#, #"{"a": ‸00}"#, #"{"a": ‸+1}"#, #"{"a": ‸.5}"#,
                #"{"a": ‸1.}"#,
                #"{"a": ‸-}"#, #"{"a": ‸-.5}"#, #"{"a": ‸1e}"#, #"{"a": ‸1e+}"#, #"{"a": ‸0x1F}"#,
                #"{"a": ‸1_000}"#,
                #"{"a": ‸1.2.3}"#, #"{"a": ‸1-2}"#, #"{"a": ‸2026-06-15T12:00:00Z}"#, #"{"a": ‸10m}"#,
                #"[‸--1]"#,
                #"[‸-Infinity]"#, #"[‸1e5.5]"#, #"[‸.]"#,
            ]
        ),
        (
            "too large or too small a number",
            [#"{"a": ‸1e999}"#, #"{"a": ‸-1e309}"#, #"[‸1e-999]"#, #"[‸0.1e-400]"#]
        ),
        (
            "a string cannot have",
            [
                "{\"a\": \"x‸\ny\"}", "{\"a\": \"x‸\ty\"}", "{\"a\": \"‸\u{0}\"}", "{\"a\": \"‸\r\n\"}",
                "{\"a‸\n\": 1}",
                "[\"<%= event %>‸\u{1F}\"]", "{\"a\": 1,\n \"b\": \"c‸\n}",
            ]
        ),
        (
            "JSON has no escape",
            [
                #"{"a": "‸\x41"}"#, #"{"a": "‸\'"}"#, #"{"a": "é‸\<%= event %>"}"#, #"{"a": "‸\ "}"#,
                #"{"a": "‸\0"}"#,
                #"{"‸\a": 1}"#, #"{"a": "\\‸\é"}"#, #"{"a": "‸\U0041"}"#,
            ]
        ),
        (
            "needs four hexadecimal digits",
            [
                #"{"a": "‸\u"}"#, #"{"a": "‸\u00e"}"#, #"{"a": "‸\u00g0"}"#, #"{"a": "‸\u00<%= event %>"}"#,
                #"{"a": "\ud83d‸\u12"}"#, #"{"a": "‸\u+123"}"#, #"["‸\u12"#,
            ]
        ),
        (
            "half of a surrogate pair",
            [
                #"{"a": "‸\ud83d"}"#, #"{"a": "‸\ude00"}"#, #"{"a": "‸\ud83d<%= event %>\ude00"}"#,
                #"{"a": "‸\ud83d\u0041"}"#, #"{"a": "‸\ud83d\ud83d"}"#, #"{"a": "‸\ud83d\ue000"}"#,
                #"{"a": "‸\udfff\ud83d"}"#,
                #"["‸\ud83dx"]"#,
            ]
        ),
        (
            "stands where { or [ belongs",
            [
                #"‸"<%= event %>""#, #"‸<%= latitude %>"#, "‸1", "‸true", " ‸lat", "\n\n  ‸,",
                "‸\u{FEFF}{\"a\": 1}",
                "‸<html>", "‸}", "‸]",
            ]
        ),
        ("the template is empty", ["‸", "‸ ", "‸\n\n"]),
        ("the template is an empty", ["‸{}", "‸[]", " ‸{ }", "\n‸[\n]"]),
        (
            "the template has ended before this",
            [
                #"{"a": 1}‸}"#, #"{"a": 1} ‸{"b": 2}"#, #"[1]‸,"#, #"[1] ‸<%= latitude %>"#, "[1]\n‸x",
                "[1]‸\u{0}", #"{"a": 1}‸;"#,
            ]
        ),
        (
            "levels",
            [
                String(repeating: "[", count: 16) + "‸[1]" + String(repeating: "]", count: 16),
                String(repeating: "{\"a\":", count: 16) + "‸{}" + String(repeating: "}", count: 16),
            ]
        ),
        (
            "more than 100 tags",
            [
                "[" + String(repeating: "<%=speed%>,", count: 100) + "‸<%=speed%>]",
                "[\"" + String(repeating: "<%=event%>", count: 100) + "‸<%=event%>\"]",
            ]
        ),
        (
            "more than 8192 bytes",
            [
                "[\"" + String(repeating: "x", count: 8190) + "‸x\"]",
                "[1]" + String(repeating: " ", count: 8189) + "‸ ",
            ]
        ),
    ]

    /// Each of them.
    package static let all = table.flatMap { entry in
        entry.templates.map { Marked(reason: entry.reason, marked: $0) }
    }

    /// A template with its mark.
    package struct Marked: Sendable {
        /// What the message must say.
        package let reason: String
        package let marked: String

        /// Without the mark.
        package var text: String {
            String(String.UnicodeScalarView(marked.unicodeScalars.filter { $0 != "‸" }))
        }

        /// Where the mark stands, counted by another way than the parser's.
        package var place: (line: Int, column: Int) {
            var (line, column) = (1, 1)
            for scalar in marked.unicodeScalars.prefix(while: { $0 != "‸" }) {
                (line, column) = scalar == "\n" ? (line + 1, 1) : (line, column + 1)
            }
            return (line, column)
        }
    }
}
