package access

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tenure/kv"
)

// boot asks for a bootstrap with the secret id(n), and returns the error and the reset.
func (w *world) boot(n int) (int64, *kv.Token, error) {
	return w.Decider.Bootstrap(id(n), time.Second)
}

func (w *world) first(n int, reset int64) uint64 {
	w.t.Helper()
	return w.do(kv.Bootstrap(kv.Token{Accessor: id(n), Secret: kv.HashSecret(id(n))}, reset))
}

func (w *world) resetFile(content string) {
	w.t.Helper()
	if err := os.WriteFile(w.cfg.ResetFile, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// A node refuses a bootstrap by its own state, without a command and without a round to the master. Only a bootstrap
// that may be allowed costs a round.
func TestBootstrapIsDecidedBeforeTheLog(t *testing.T) {
	w := newWorld(t)
	w.lags = true
	if reset, made, err := w.boot(1); reset != 0 || made != nil || err != nil {
		t.Fatalf("the first: %d, %+v, %v", reset, made, err)
	}
	at := w.first(1, 0)
	var done *BootstrappedError
	if _, _, err := w.boot(2); !errors.As(err, &done) || done.Index != at || w.rounds.Load() != 2 {
		t.Fatalf("on a node that has not heard of the first: %v, after %d rounds", err, w.rounds.Load())
	}
	for range 3 {
		if _, _, err := w.boot(2); !errors.As(err, &done) || w.rounds.Load() != 2 {
			t.Fatalf("%v, after %d rounds", err, w.rounds.Load())
		}
	}
	// A try whose answer was lost succeeds again with the same secret.
	if _, made, err := w.boot(1); err != nil || made == nil || made.Accessor != id(1) {
		t.Errorf("again: %+v, %v", made, err)
	}
	w.token(3, kv.Token{Policies: []string{kv.ManagementPolicy}})
	if _, _, err := w.Decider.Bootstrap("s3", time.Second); !errors.As(err, &done) {
		t.Errorf("with the secret of another token: %v", err)
	}
	w.catchUp = errors.New("no master")
	if err := (&world{Decider: New(w.cfg)}).unsure(); !errors.Is(err, ErrUnsure) {
		t.Errorf("on a node that knows nothing: %v", err)
	}
}

func (w *world) unsure() error {
	_, _, err := w.boot(1)
	return err
}

// A reset works only with the secret that the operator has written beside the number. For any other secret it is as if
// there were no file.
func TestAResetIsForOneSecret(t *testing.T) {
	w := newWorld(t)
	at := w.first(1, 0)
	w.do(kv.DropToken(id(1)))
	var done *BootstrappedError
	w.resetFile("2 " + id(2) + "\n")
	if at != 2 {
		t.Fatal(at)
	}
	for _, secret := range []string{"", id(3), "2", "2 " + id(2), strings.ToUpper(id(3))} {
		if reset, _, err := w.Decider.Bootstrap(secret, time.Second); !errors.As(err, &done) {
			t.Errorf("%q: %d, %v", secret, reset, err)
		}
	}
	reset, _, err := w.boot(2)
	if reset != int64(at) || err != nil {
		t.Fatalf("%d, %v", reset, err)
	}
	w.first(2, reset)
	if _, made, err := w.boot(2); err != nil || made == nil {
		t.Errorf("again: %+v, %v", made, err)
	}
	w.do(kv.DropToken(id(2)))
	if _, _, err := w.boot(2); !errors.As(err, &done) {
		t.Errorf("with a file that was used: %v", err)
	}
	w.ResetUsed()
	if _, err := os.Stat(w.cfg.ResetFile); err == nil {
		t.Error("the file is still there")
	}
}

// The error of a malformed file reveals nothing of its contents.
func TestAWrongResetFileIsSaid(t *testing.T) {
	w := newWorld(t)
	w.first(1, 0)
	for _, content := range []string{"", "2\n", id(2), "x " + id(2), "-2 " + id(2), "0 " + id(2), "2 secret", "2 " + id(2) + " 3"} {
		w.resetFile(content)
		reset, made, err := w.boot(2)
		if reset != 0 || made != nil || !errors.Is(err, errResetFile) || strings.Contains(err.Error(), id(2)[:8]) ||
			strings.Contains(err.Error(), w.cfg.ResetFile) {
			t.Errorf("%q: %d, %+v, %v", content, reset, made, err)
		}
	}
}
