package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/shown"
)

func newSet(a *app) *cobra.Command {
	var w writeFlags
	var acquire, release string
	cmd := &cobra.Command{
		Use:     "set KEY VALUE|@FILE|-",
		Aliases: []string{"put"},
		Short:   "Write a key",
		Long: "Write a key and print the revision of the write. Put -- before a VALUE that begins with a dash,\n" +
			"unless it is a number.\n" +
			valueText + "\n" +
			"Without --ttl the key stays, even if it was to be deleted after a time before.\n\n" +
			"With --acquire or --release, also lock or unlock the key for a session. If that fails, nothing is\n" +
			"changed and the exit code is 1. To run a command under a lock, use kvctl lock.",
		Example: "  kvctl set hello world\n  kvctl set photo @photo.jpg\n  tar c etc | kvctl set etc -\n" +
			"  kvctl set --ttl 30s seen/here now\n  kvctl set balance -5",
		Args:              arguments(2, 2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if acquire != "" && release != "" {
				return usage("--acquire and --release contradict each other: give one of them")
			}
			write := func(ctx context.Context, c *client.Client, value []byte) (uint64, error) {
				switch {
				case acquire != "":
					return c.Locks().LockKey(ctx, args[0], value, acquire, w.options())
				case release != "":
					return c.Locks().UnlockKey(ctx, args[0], value, release, w.options())
				}
				return c.Set(ctx, args[0], value, w.options())
			}
			return w.writeKey(cmd, a, args[0], args[1], write)
		},
	}
	w.addValueTo(cmd)
	cmd.Flags().StringVar(&acquire, "acquire", "", "also lock the key for the session with this ID")
	cmd.Flags().StringVar(&release, "release", "", "also unlock the key, which the session with this ID holds")
	return cmd
}

func newCAS(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "cas KEY INDEX VALUE|@FILE|-",
		Short: "Write a key if it has not changed since INDEX",
		Long: "Write a key if its modify index (see kvctl get --json) is INDEX, or if INDEX is 0 and the key is\n" +
			"absent. Print the revision of the write, which is the new modify index. Otherwise nothing is\n" +
			"changed and the exit code is 1.\n" +
			valueText,
		Example:           "  kvctl cas config 0 first\n  kvctl cas config 17 second",
		Args:              arguments(3, 3),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usage("INDEX %q: must be a number from 0 up", args[1])
			}
			write := func(ctx context.Context, c *client.Client, value []byte) (uint64, error) {
				revision, err := c.CompareAndSet(ctx, args[0], value, index, w.options())
				return revision, conditionError(err, index)
			}
			return w.writeKey(cmd, a, args[0], args[2], write)
		},
	}
	w.addValueTo(cmd)
	return cmd
}

func newTestAndSet(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "test-and-set KEY TEST VALUE|@FILE|-",
		Short: "Write a key if its value is TEST",
		Long: "Write VALUE if the key's value is TEST, and print the revision of the write. Otherwise print the\n" +
			"value that the key has, change nothing, and return exit code 1. TEST is always the text itself.\n" +
			valueText,
		Example:           "  kvctl test-and-set switch off on",
		Args:              arguments(3, 3),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			write := func(ctx context.Context, c *client.Client, value []byte) (uint64, error) {
				now, revision, err := c.TestAndSet(ctx, args[0], []byte(args[1]), value, w.options())
				switch {
				case errors.Is(err, client.ErrCondition) && now == nil:
					err = fmt.Errorf("%w, too large to be remembered; nothing was changed", err)
				case errors.Is(err, client.ErrCondition):
					err = fmt.Errorf("%w: %s; nothing was changed", err, shown.Line(string(now)))
				}
				return revision, err
			}
			return w.writeKey(cmd, a, args[0], args[2], write)
		},
	}
	w.addTo(cmd)
	w.addLiteralTo(cmd)
	return cmd
}

func newAdd(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:               "add KEY NUMBER",
		Short:             "Add to the number in a key",
		Long:              "Add NUMBER to the decimal number in the key, in one step, and print the sum. The key must exist.",
		Example:           "  kvctl add visits 1\n  kvctl add stock -3",
		Args:              arguments(2, 2),
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
				return a.printf(struct {
					Key      string `json:"key"`
					Value    int64  `json:"value"`
					Revision uint64 `json:"revision"`
				}{args[0], sum, revision}, "%d\n", sum)
			})
		},
	}
	w.addTo(cmd)
	return cmd
}

func newRename(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "rename KEY NEWKEY",
		Short: "Rename a key",
		Long: "Move the value, flags and TTL of KEY to NEWKEY in one step, replacing what NEWKEY has, and print\n" +
			"the revision. KEY must exist. If either key is locked, nothing is changed and the exit code is 1.",
		Args:              arguments(2, 2),
		ValidArgsFunction: a.completeBothKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.writeKey(cmd.Context(), args[1], func(ctx context.Context, c *client.Client) (uint64, error) {
				revision, err := c.Rename(ctx, args[0], args[1], w.options())
				if errors.Is(err, client.ErrCondition) {
					err = fmt.Errorf("%w: one of the keys is locked; nothing was changed", err)
				}
				return revision, err
			})
		},
	}
	w.addTo(cmd)
	return cmd
}
