package sqlite_test

func acceptForever(string) {}
