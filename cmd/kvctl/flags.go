package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

// maxValueBytes is the largest value that any cluster may be told to take.
const maxValueBytes = 16 << 20

// writeFlags are those of every verb that writes.
type writeFlags struct {
	once  client.Once
	flags uint64
	ttl   time.Duration
	fence fenceFlag
}

// fenceFlag is NAME:TOKEN.
type fenceFlag struct{ client.Fence }

// String is the flag's value.
func (f *fenceFlag) String() string {
	if f.Name == "" {
		return ""
	}
	return f.Fence.String()
}

// Type names the value in usage texts.
func (f *fenceFlag) Type() string { return "NAME:TOKEN" }

// Set reads the flag's value.
func (f *fenceFlag) Set(s string) error {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return errors.New("write it like kv/KEY:TOKEN")
	}
	token, err := strconv.ParseUint(s[i+1:], 10, 64)
	if err != nil || token == 0 {
		return errors.New("what follows the last colon must be a token, a number from 1 up")
	}
	f.Fence = client.Fence{Name: s[:i], Token: token}
	return nil
}

func (w *writeFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(&w.fence, "fence", "fail if a larger token of that name was seen; kvctl lock has it in $"+fenceVariable)
	w.addOnce(cmd)
}

func (w *writeFlags) addOnce(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.once.Key, "idempotency-key", "", "send an earlier write again, whose key this is (goes with --base)")
	cmd.Flags().Var((*decimal)(&w.once.Base), "base", "the base of that earlier write")
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if f := cmd.Flags(); f.Changed("idempotency-key") != f.Changed("base") {
			return usage("--idempotency-key and --base go together: give both, as they were printed")
		}
		return args(cmd, given)
	}
}

func (w *writeFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().Var((*decimal)(&w.flags), "flags", "a number stored with the value")
	cmd.Flags().DurationVar(&w.ttl, "ttl", 0, "have the key deleted after that time (0: it stays)")
}

func (w *writeFlags) options() client.WriteOptions {
	return client.WriteOptions{Once: w.once, Flags: w.flags, TTL: w.ttl, Fence: w.fence.Fence}
}

// value is the argument, or standard input for "-".
func (a *app) value(arg string) ([]byte, error) {
	if arg != "-" {
		return []byte(arg), nil
	}
	b, err := io.ReadAll(io.LimitReader(a.stdin, maxValueBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(b) > maxValueBytes {
		return nil, usage("standard input is over %d bytes, the largest value that any cluster takes", maxValueBytes)
	}
	return b, nil
}

// notAt adds to a failed condition what it was.
func notAt(err error, index uint64) error {
	switch {
	case !errors.Is(err, client.ErrCondition):
		return err
	case index == 0:
		return fmt.Errorf("%w: the key exists; nothing was changed", err)
	}
	return fmt.Errorf("%w: the key is not at index %d; nothing was changed, see kvctl get --json", err, index)
}

// written is what a write prints with --json.
type written struct {
	Key      string `json:"key"`
	Revision uint64 `json:"revision"`
}

func (a *app) printWritten(key string, revision uint64) error {
	return a.print(written{key, revision}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "revision %d\n", revision)
		return err
	})
}

// waitFlags are those of the verbs that can wait for news.
type waitFlags struct {
	index uint64
	wait  time.Duration
	shows bool
}

const waitText = "With --index N it waits until there is a change behind index N, for at most --wait, and prints what there is then.\n" +
	"The index that goes with that is told on standard error, for the next time; --index 0 waits for nothing."

func (w *waitFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var((*decimal)(&w.index), "index", "wait for a change behind this index, and tell the new one")
	cmd.Flags().DurationVar(&w.wait, "wait", client.DefaultWait, "with --index, how long to wait")
}

// start checks the flags and gives the command the time that they ask for.
func (w *waitFlags) start(a *app, cmd *cobra.Command) error {
	w.shows = cmd.Flags().Changed("index")
	if !w.shows && cmd.Flags().Changed("wait") {
		return usage("--wait goes with --index N: say behind which index there is to be a change")
	}
	if w.wait <= 0 {
		return usage("--wait %v: must be above 0", w.wait)
	}
	if w.index != 0 {
		a.waits = w.wait
	}
	return nil
}

// tell says at which index the answer is.
func (w *waitFlags) tell(a *app, m client.Meta) {
	if !w.shows || m.Index == 0 {
		return
	}
	if a.json {
		_ = json.NewEncoder(a.stderr).Encode(struct {
			Index uint64 `json:"index"`
		}{m.Index})
		return
	}
	fmt.Fprintf(a.stderr, "kvctl: index %d\n", m.Index)
}

// decimal is the value of a flag that takes a number from 0 up. Unlike pflag's own it reads 010 as ten, as the API and
// the arguments of the other commands do.
type decimal uint64

// String is the flag's value.
func (d *decimal) String() string { return strconv.FormatUint(uint64(*d), 10) }

// Type names the value in usage texts.
func (d *decimal) Type() string { return "uint64" }

// Set reads the flag's value.
func (d *decimal) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("must be a number from 0 up")
	}
	*d = decimal(n)
	return nil
}
