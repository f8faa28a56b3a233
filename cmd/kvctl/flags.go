package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/api"
	"tenure/client"
	"tenure/internal/days"
	"tenure/internal/input"
)

// writeFlags are the flags of every command that writes.
type writeFlags struct {
	once  client.Once
	flags uint64
	ttl   time.Duration
	fence fenceFlag

	literal bool // VALUE is the value
}

// fenceFlag is the value of a flag that takes NAME:TOKEN, as it is or as shown.Line prints it.
type fenceFlag struct{ client.Fence }

// String returns the flag's value.
func (f *fenceFlag) String() string {
	if f.Name == "" {
		return ""
	}
	return f.Fence.String()
}

// Type returns the name of the value in help texts.
func (f *fenceFlag) Type() string { return "NAME:TOKEN" }

// Set reads the flag's value.
func (f *fenceFlag) Set(s string) error {
	if quoted, err := strconv.Unquote(s); err == nil { // no NAME:TOKEN ends in a quote
		s = quoted
	}
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

// addTo defines the flags of a write to keys.
func (w *writeFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().Var(&w.fence, "fence",
		"fail if the cluster has seen a larger token of NAME; kvctl lock and lease run put it in $"+fenceVariable)
	w.addOnceTo(cmd)
}

// addOnceTo defines the flags that repeat an earlier run.
func (w *writeFlags) addOnceTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.once.Key, "idempotency-key", "",
		"repeat the earlier run that printed this key: it is applied at most once (needs --base)")
	cmd.Flags().Var((*decimal)(&w.once.Base), "base", "the base that the earlier run printed")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if f := cmd.Flags(); f.Changed("idempotency-key") != f.Changed("base") {
			return usage("--idempotency-key and --base go together: give both, as they were printed")
		}
		return check(cmd, args)
	}
}

// addValueTo defines the flags of a write that sets a value.
func (w *writeFlags) addValueTo(cmd *cobra.Command) {
	w.addTo(cmd)
	w.addLiteralTo(cmd)
	cmd.Flags().Var((*decimal)(&w.flags), "flags", "a number to store with the value")
	ttlVar(cmd.Flags(), &w.ttl, 0, "delete the key after this time (default: never)")
}

func (w *writeFlags) options() client.WriteOptions {
	return client.WriteOptions{Once: w.once, Flags: w.flags, TTL: w.ttl, Fence: w.fence.Fence}
}

// valueText describes a VALUE in help texts.
const valueText = "A VALUE of - is read from standard input, one like @FILE from that file; --literal takes it as it is."

// addLiteralTo defines the flag of a write that takes a VALUE.
func (w *writeFlags) addLiteralTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.literal, "literal", false, "store VALUE as it is, also if it is - or begins with @")
}

// writeKey is app.writeKey for a command with an argument VALUE.
func (w *writeFlags) writeKey(cmd *cobra.Command, a *app, key, arg string,
	f func(ctx context.Context, c *client.Client, value []byte) (revision uint64, err error)) error {
	ctx, cancel := a.bounded(cmd)
	defer cancel()
	value, err := w.value(ctx, a, arg)
	if err != nil {
		return err
	}
	return a.writeKey(ctx, key, func(ctx context.Context, c *client.Client) (uint64, error) { return f(ctx, c, value) })
}

// value returns what the argument VALUE stands for: the content of a file for "@FILE", standard input for "-", as with
// consul kv put.
func (w *writeFlags) value(ctx context.Context, a *app, arg string) ([]byte, error) {
	switch name, isFile := strings.CutPrefix(arg, "@"); {
	case w.literal:
	case isFile && name == "":
		return nil, usage("VALUE @: the name of the file is missing; to store the text @, give --literal")
	case isFile:
		f, err := input.Open(ctx, name)
		if input.IsEnded(err) {
			return nil, err
		}
		if err != nil {
			return nil, usage("VALUE %s: %w; to store the text %[1]s, give --literal", arg, err)
		}
		defer f.Close() // it is only read
		return readValue(ctx, f, name)
	case arg == "-":
		return readValue(ctx, a.stdin, standardInput)
	}
	return []byte(arg), nil
}

// readValue reads a value; name is for its errors.
func readValue(ctx context.Context, r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(input.NewReader(ctx, r, name), api.MaxValueBytes+1))
	if input.IsEnded(err) {
		return nil, fmt.Errorf("%w; nothing was written", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > api.MaxValueBytes {
		return nil, usage("%s is over %d bytes, the largest value that any cluster accepts", name, api.MaxValueBytes)
	}
	return b, nil
}

// conditionError adds to a failed condition on a key's index what it was.
func conditionError(err error, index uint64) error {
	switch {
	case !errors.Is(err, client.ErrCondition):
		return err
	case index == 0:
		return fmt.Errorf("%w: the key exists; nothing was changed", err)
	}
	return fmt.Errorf("%w: the key is not at index %d; nothing was changed, see kvctl get --json", err, index)
}

// waitFlags are the flags of the commands that can wait for a change.
type waitFlags struct {
	index uint64
	wait  time.Duration
	given bool // --index
}

const waitText = "With --index N, wait until something has changed since index N, for at most --wait, and print the\n" +
	"state then. Its index goes to standard error, for the next call. --index 0 does not wait. If this store\n" +
	"has not come as far as N, N is of another store, and the state is printed at once.\n\n" +
	"Without --timeout, the command may take as long as the wait and the usual time limit together. With it,\n" +
	"the wait is at most so long that the command ends within --timeout."

func (w *waitFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().Var((*decimal)(&w.index), "index", "wait for a change after this index, and print the new index")
	durationVar(cmd.Flags(), &w.wait, "wait", client.DefaultWait, "with --index, how long to wait")
}

// start checks the flags. It extends the command's time limit by the wait, unless the user has set the limit: then it
// shortens the wait.
func (w *waitFlags) start(a *app, cmd *cobra.Command) error {
	w.given = cmd.Flags().Changed("index")
	if !w.given && cmd.Flags().Changed("wait") {
		return usage("--wait needs --index N, the index after which to wait for a change")
	}
	if w.wait <= 0 {
		return usage("--wait %v: must be above 0", w.wait)
	}
	switch {
	case cmd.Flags().Changed("timeout"):
		w.wait = min(w.wait, waitWithin(a.timeout))
	case w.index != 0:
		a.extraTime = w.wait
	}
	return nil
}

// waitWithin returns how long a command may wait that must end within timeout. A node waits up to a sixteenth longer
// than it is told, and then has to answer.
func waitWithin(timeout time.Duration) time.Duration {
	return timeout - timeout/16 - min(timeout/8, time.Second)
}

// note writes the answer's index to standard error, if --index was given, and whether that was of another store.
func (w *waitFlags) note(a *app, m client.Meta) {
	if !w.given || m.Index == 0 {
		return
	}
	if m.Revision < w.index && !a.stale && !a.json {
		a.note("index %d is of another store: this one is at revision %d", w.index, m.Revision)
	}
	a.noteIndex(m.Index)
}

// durationVar defines a flag for a length of time, in which d stands for days.
func durationVar(f *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	f.Var((*lengthFlag)(to), name, usage)
	if value == 0 {
		f.Lookup(name).DefValue = "" // the help text names no default
	}
}

// lengthFlag is the value of such a flag. What may not be negative, or 0, is for the command to say.
type lengthFlag time.Duration

// Set implements pflag.Value.
func (d *lengthFlag) Set(text string) error {
	parsed, err := days.ParseSigned(text)
	*d = lengthFlag(parsed)
	return err
}

// String implements pflag.Value.
func (d *lengthFlag) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (d *lengthFlag) Type() string { return "duration" }

// ttlVar defines the flag --ttl.
func ttlVar(f *pflag.FlagSet, to *time.Duration, value time.Duration, usage string) {
	durationVar(f, to, "ttl", value, usage)
	f.Lookup("ttl").Value = ttlFlag{(*lengthFlag)(to)}
}

// ttlFlag is a lengthFlag that refuses 0: some would mean no end by it, and others an end at once.
type ttlFlag struct{ *lengthFlag }

// Set implements pflag.Value.
func (d ttlFlag) Set(text string) error {
	if err := d.lengthFlag.Set(text); err != nil {
		return err
	}
	if *d.lengthFlag <= 0 {
		return usage("must be above 0; for the default leave the flag out")
	}
	return nil
}
