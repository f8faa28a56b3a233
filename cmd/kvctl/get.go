package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newGet(a *app) *cobra.Command {
	var wait waitFlags
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Write a key's value to standard output, byte for byte",
		Long: "get writes a key's value to standard output as it is, without a line end of its own. With --json it prints the\n" +
			"whole entry, the value in base64. An absent key is exit code 1.\n\n" + waitText,
		Example:           "  kvctl get hello\n  kvctl get hello --index 17 --wait 1m",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.start(a, cmd); err != nil {
				return err
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				e, meta, err := c.GetWait(ctx, args[0], wait.index, wait.wait, client.ReadOptions{Mode: mode})
				wait.tell(a, meta)
				if err != nil {
					return meta, err
				}
				return meta, a.print(entryJSON(e), func(w io.Writer) error {
					_, err := w.Write(e.Value)
					return err
				})
			})
		},
	}
	wait.add(cmd)
	return cmd
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
