extension Template.Kind {
    /// Transistorsoft's own record, as its SDK sends it without a template; the row's extras fill its `extras`.
    ///
    /// `mock` is in all records, not only in those where it is true, and `event` is empty where the SDK leaves it out: a
    /// template has no conditions.
    package var guideText: String {
        let geofence = """
              "geofence": {"identifier": "<%= geofence.identifier %>", "action": "<%= geofence.action %>"},

            """
        return """
            {
              "event": "<%= event %>",
              "is_moving": <%= is_moving %>,
              "uuid": "<%= uuid %>",
              "timestamp": "<%= timestamp %>",
              "odometer": <%= odometer %>,
              "mock": <%= mock %>,
            \(self == .geofence ? geofence : "")\
              "coords": {
                "latitude": <%= latitude %>,
                "longitude": <%= longitude %>,
                "accuracy": <%= accuracy %>,
                "speed": <%= speed %>,
                "heading": <%= heading %>,
                "altitude": <%= altitude %>,
                "ellipsoidal_altitude": <%= altitude %>
              },
              "activity": {"type": "<%= activity.type %>", "confidence": <%= activity.confidence %>},
              "battery": {"level": <%= battery.level %>, "is_charging": <%= battery.is_charging %>},
              "extras": {}
            }
            """
    }
}
