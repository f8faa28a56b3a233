package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newSet(a *app) *cobra.Command {
	var w writeFlags
	var acquire, release string
	cmd := &cobra.Command{
		Use:     "set KEY VALUE|-",
		Aliases: []string{"put"},
		Short:   "Write a key",
		Long: "set writes a key and prints the revision of the write. A VALUE of - is read from standard input. A VALUE that\n" +
			"begins with - goes behind --. A write without --ttl makes the key stay, also if it was to expire.\n\n" +
			"With --acquire or --release it locks or unlocks the key for a session too; if it cannot, nothing is changed and\n" +
			"the exit code is 1. kvctl lock does all that a command under a lock needs.",
		Example:           "  kvctl set hello world\n  kvctl set photo - <photo.jpg\n  kvctl set --ttl 30s seen/here now\n  kvctl set -- balance -5",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if acquire != "" && release != "" {
				return usage("--acquire and --release contradict each other: give one of them")
			}
			value, err := a.value(args[1])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				var revision uint64
				var err error
				switch {
				case acquire != "":
					revision, err = c.Locks().LockKey(ctx, args[0], value, acquire, w.options())
				case release != "":
					revision, err = c.Locks().UnlockKey(ctx, args[0], value, release, w.options())
				default:
					revision, err = c.Set(ctx, args[0], value, w.options())
				}
				if err != nil {
					return err
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	w.addFlags(cmd)
	cmd.Flags().StringVar(&acquire, "acquire", "", "lock the key for the session with this ID")
	cmd.Flags().StringVar(&release, "release", "", "unlock the key, which that session holds")
	return cmd
}

func newCAS(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "cas KEY INDEX VALUE|-",
		Short: "Write a key if nobody has since INDEX",
		Long: "cas writes a key if its modify index (see get --json) is INDEX, or if INDEX is 0 and the key is absent. It prints\n" +
			"the revision of the write, which is the new modify index. If the key is not at INDEX, nothing is changed and the\n" +
			"exit code is 1. A VALUE of - is read from standard input.",
		Example:           "  kvctl cas config 0 first\n  kvctl cas config 17 second",
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usage("INDEX %q: must be a number from 0 up", args[1])
			}
			value, err := a.value(args[2])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				revision, err := c.CompareAndSet(ctx, args[0], value, index, w.options())
				if err != nil {
					return notAt(err, index)
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	w.addFlags(cmd)
	return cmd
}

func newTestAndSet(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "test-and-set KEY TEST VALUE|-",
		Short: "Write a key if it holds TEST",
		Long: "test-and-set writes VALUE if the key holds TEST, and prints the revision of the write. If it holds another value,\n" +
			"that is told, nothing is changed and the exit code is 1. A VALUE of - is read from standard input.",
		Example:           "  kvctl test-and-set switch off on",
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := a.value(args[2])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				now, revision, err := c.TestAndSet(ctx, args[0], []byte(args[1]), value, w.options())
				if errors.Is(err, client.ErrCondition) {
					return fmt.Errorf("%w: %s; nothing was changed", err, output.OneLine(string(now)))
				}
				if err != nil {
					return err
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	return cmd
}

func newAdd(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "add KEY NUMBER",
		Short: "Add to the number that a key holds",
		Long: "add adds NUMBER to the decimal number that the key holds, in one step, and prints the sum. The key must exist.\n" +
			"A NUMBER that begins with - goes behind --.",
		Example:           "  kvctl add visits 1\n  kvctl add -- stock -3",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usage("NUMBER %q: must be a decimal number of at most 64 bits", args[1])
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				sum, revision, err := c.Add(ctx, args[0], n, w.options())
				if err != nil {
					return err
				}
				return a.print(struct {
					Key      string `json:"key"`
					Value    int64  `json:"value"`
					Revision uint64 `json:"revision"`
				}{args[0], sum, revision}, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, sum)
					return err
				})
			})
		},
	}
	w.add(cmd)
	return cmd
}

func newRename(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "rename KEY NEWKEY",
		Short: "Move a key's value to another key",
		Long: "rename moves the value, flags and TTL of a key to another key in one step, overwriting what is there, and prints\n" +
			"the revision. The key must exist. If either is locked, nothing is changed and the exit code is 1.",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeBothKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				revision, err := c.Rename(ctx, args[0], args[1], w.options())
				if errors.Is(err, client.ErrCondition) {
					return fmt.Errorf("%w: one of the keys is locked; nothing was changed", err)
				}
				if err != nil {
					return err
				}
				return a.printWritten(args[1], revision)
			})
		},
	}
	w.add(cmd)
	return cmd
}
