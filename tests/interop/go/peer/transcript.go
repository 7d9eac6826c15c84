package peer

import "testing"

// Check logs one line of the transcript, and ends the test when got is not what was wanted.
func Check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("NOT %s: got %v, want %v", what, got, want)
	}
	t.Logf("ok  %s: %v", what, got)
}

// CheckTrue logs one line of the transcript, and ends the test when holds is false.
func CheckTrue(t *testing.T, what string, holds bool) {
	t.Helper()
	if !holds {
		t.Fatalf("NOT %s", what)
	}
	t.Logf("ok  %s", what)
}

// Must ends the test when a client library reports an error, and returns its value otherwise.
func Must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("client library: %v", err)
		}
		return value
	}
}
