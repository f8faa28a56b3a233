package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newSession(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "session", Short: "Create, show, renew and destroy sessions"},
		newSessionCreate(a), newSessionList(a), newSessionInfo(a), newSessionRenew(a), newSessionDestroy(a))
}

func newSessionCreate(a *app) *cobra.Command {
	var o client.SessionOptions
	var w writeFlags
	behavior := string(client.ReleaseKeys)
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a session and print its ID",
		Long: "create makes a session and prints its ID. Keys are locked for it with kvctl set --acquire ID. It ends when it is\n" +
			"destroyed, or was not renewed within --ttl; then its locks are released, or with --behavior delete their keys\n" +
			"deleted, and for --lock-delay nobody gets those locks. kvctl lock does all that a command under a lock needs.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Behavior, o.Once = client.Behavior(behavior), w.once
			if o.TTL < 0 || o.LockDelay < 0 {
				return usage("--ttl and --lock-delay must not be negative")
			}
			if o.LockDelay == 0 {
				o.LockDelay = client.NoLockDelay
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				id, err := c.Sessions().Create(ctx, o)
				if err != nil {
					return err
				}
				return a.print(struct {
					ID string `json:"id"`
				}{id}, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, id)
					return err
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", "", "name of the session")
	f.StringVar(&o.Node, "node", "", "whose session it is (default: the cluster node that creates it)")
	f.DurationVar(&o.TTL, "ttl", 0, "how long it lives without being renewed (0: until it is destroyed)")
	f.DurationVar(&o.LockDelay, "lock-delay", 15*time.Second, "how long nobody gets a lock of it that it did not release")
	f.StringVar(&behavior, "behavior", behavior, "what becomes of its keys when it ends: release or delete")
	w.addOnce(cmd)
	return cmd
}

func newSessionList(a *app) *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sessions with the time that they have left and the keys that they have locked",
		Long: "list prints all sessions. LEFT is about how long a session lives yet unless it is renewed, KEYS are the keys that it has\n" +
			"locked: how many, and the first of them. --json prints up to 100.",
		Example: "  kvctl session list\n  kvctl session list --node node-1 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if node == "" && cmd.Flags().Changed("node") {
				return usage("--node: the name is empty")
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				o := client.ReadOptions{Mode: mode}
				list, meta, err := c.Sessions().ListDetails(ctx, node, o)
				if err != nil {
					return meta, err
				}
				return meta, a.printSessions(list)
			})
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "only those of this node")
	return cmd
}

func newSessionInfo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "info ID",
		Short:             "Show a session",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				s, meta, err := c.Sessions().Details(ctx, args[0], client.ReadOptions{Mode: mode})
				if err != nil {
					return meta, err
				}
				return meta, a.printSessions([]client.SessionDetails{s})
			})
		},
	}
}

func newSessionRenew(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "renew ID",
		Short:             "Start a session's TTL anew",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s, err := c.Sessions().Renew(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printSession(s)
			})
		},
	}
}

func newSessionDestroy(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:               "destroy ID",
		Short:             "End a session and its locks",
		Long:              "destroy ends a session and its locks. That there is none is no failure.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Sessions().Destroy(ctx, args[0], client.WriteOptions{Once: w.once}); err != nil {
					return err
				}
				return a.print(struct {
					ID string `json:"id"`
				}{args[0]}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "session %s destroyed\n", args[0])
					return err
				})
			})
		},
	}
	w.addOnce(cmd)
	return cmd
}

// sessionJSON is a session as --json prints it.
type sessionJSON struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Node        string `json:"node"`
	TTL         int64  `json:"ttl_ms"` // 0: none
	LockDelay   int64  `json:"lock_delay_ms"`
	Behavior    string `json:"behavior"`
	CreateIndex uint64 `json:"create_index"`
	ModifyIndex uint64 `json:"modify_index"`
	*sessionMoreJSON
}

// sessionMoreJSON is what the details of a session add.
type sessionMoreJSON struct {
	Left int64    `json:"left_ms,omitempty"`
	Held int      `json:"held"`
	Keys []string `json:"keys"`
}

func sessionOut(s client.Session) sessionJSON {
	return sessionJSON{
		ID: s.ID, Name: s.Name, Node: s.Node, TTL: s.TTL.Milliseconds(), LockDelay: s.LockDelay.Milliseconds(), Behavior: string(s.Behavior),
		CreateIndex: s.CreateIndex, ModifyIndex: s.ModifyIndex,
	}
}

// printSession prints a session without details.
func (a *app) printSession(s client.Session) error {
	return a.print([]sessionJSON{sessionOut(s)}, func(w io.Writer) error {
		return sessionTable(w, []string{"ID", "NAME", "NODE", "TTL", "LOCK-DELAY", "BEHAVIOR", "CREATED"}, [][]string{{
			s.ID, orDash(output.OneLine(s.Name)), orDash(output.OneLine(s.Node)), durationOrDash(s.TTL), durationOrDash(s.LockDelay), string(s.Behavior), fmt.Sprint(s.CreateIndex),
		}})
	})
}

func (a *app) printSessions(list []client.SessionDetails) error {
	out := []sessionJSON{}
	for _, s := range list {
		o := sessionOut(s.Session)
		o.sessionMoreJSON = &sessionMoreJSON{Left: s.ExpiresIn.Milliseconds(), Held: s.Held, Keys: append([]string{}, s.Keys...)}
		out = append(out, o)
	}
	return a.print(out, func(w io.Writer) error {
		var rows [][]string
		for _, s := range list {
			left := "-"
			if s.ExpiresIn > 0 {
				left = output.Duration(s.ExpiresIn)
			}
			rows = append(rows, []string{
				s.ID, orDash(output.OneLine(s.Name)), orDash(output.OneLine(s.Node)), durationOrDash(s.TTL), left, durationOrDash(s.LockDelay), string(s.Behavior), heldText(s),
			})
		}
		return sessionTable(w, []string{"ID", "NAME", "NODE", "TTL", "LEFT", "LOCK-DELAY", "BEHAVIOR", "KEYS"}, rows)
	})
}

// shownKeys is how many of a session's keys stand in a table.
const shownKeys = 3

// heldText is how many keys a session has locked, and the first of them.
func heldText(s client.SessionDetails) string {
	if s.Held == 0 {
		return "-"
	}
	var keys []string
	for _, k := range s.Keys[:min(len(s.Keys), shownKeys)] {
		keys = append(keys, output.OneLine(k))
	}
	if s.Held > len(keys) {
		keys = append(keys, "…")
	}
	return fmt.Sprintf("%d: %s", s.Held, strings.Join(keys, " "))
}

// sessionTable prints nothing for no sessions.
func sessionTable(w io.Writer, head []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range append([][]string{head}, rows...) {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	return t.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func durationOrDash(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.String()
}
