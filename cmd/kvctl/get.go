package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newGet(a *app) *cobra.Command {
	var wait waitFlags
	var prefix bool
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Write a key's value to standard output, byte for byte",
		Long: "get writes a key's value to standard output as it is; only on a terminal a line end follows one that has none. With\n" +
			"--json it prints the whole entry, the value in base64. An absent key is exit code 1.\n\n" +
			"With --prefix it prints all keys that start with KEY, and their values, as kvctl list --values does; none is no failure.\n\n" + waitText,
		Example:           "  kvctl get hello\n  kvctl get hello --index 17 --wait 1m\n  kvctl get --prefix jobs/",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.start(a, cmd); err != nil {
				return err
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				if prefix {
					return a.listEntries(ctx, c, args[0], client.ListOptions{Mode: mode}, &wait)
				}
				e, meta, err := c.GetWait(ctx, args[0], wait.index, wait.wait, client.ReadOptions{Mode: mode})
				wait.tell(a, meta)
				if err != nil {
					return meta, err
				}
				return meta, a.print(entryJSON(e), func(w io.Writer) error { return a.writeValue(w, e.Value) })
			})
		},
	}
	wait.add(cmd)
	cmd.Flags().BoolVar(&prefix, "prefix", false, "print all keys that start with KEY, and their values")
	return cmd
}

// writeValue writes a value as it is. On a terminal the next prompt begins on a line of its own.
func (a *app) writeValue(w io.Writer, value []byte) error {
	_, err := w.Write(value)
	if err == nil && a.onTerminal(w) && len(value) > 0 && value[len(value)-1] != '\n' {
		_, err = io.WriteString(w, "\n")
	}
	return err
}

// entry is a key as --json prints it.
type entry struct {
	Key         string `json:"key"`
	Value       []byte `json:"value"` // base64
	Flags       uint64 `json:"flags"`
	CreateIndex uint64 `json:"create_index"`
	ModifyIndex uint64 `json:"modify_index"`
	LockIndex   uint64 `json:"lock_index"`
	Session     string `json:"session,omitempty"`
	ExpiresIn   int64  `json:"expires_in_ms,omitempty"`
}

func entryJSON(e client.Entry) entry {
	if e.Value == nil {
		e.Value = []byte{}
	}
	return entry{e.Key, e.Value, e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex, e.Session, e.ExpiresIn.Milliseconds()}
}
