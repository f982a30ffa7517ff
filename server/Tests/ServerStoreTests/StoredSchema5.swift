extension SQLiteExamples {
    /// What the fifth made of the fourth.
    static let step5 = """
        ALTER TABLE claims ADD COLUMN allow TEXT;
        ALTER TABLE claims ADD COLUMN settings TEXT;
        """
}

extension PostgresExamples {
    /// What the fifth made of the fourth.
    static let step5 = """
        ALTER TABLE claims ADD COLUMN allow text, ADD COLUMN settings text;
        UPDATE beekon_schema SET version = 5;
        """
}
