package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/shown"
)

// memberChange is one run of a command that changes the members.
type memberChange struct {
	app    *app
	kind   string
	change client.MemberChange
	dryRun bool
	noWait bool
	name   string // of the member, while it is one
	// perform carries the command out on what its argument names.
	perform func(ctx context.Context, c *client.Client, arg string) error
}

// newMemberChange returns a command that changes the member named by its argument.
func newMemberChange(a *app, kind string, cmd *cobra.Command) (*cobra.Command, *memberChange) {
	m := &memberChange{app: a, kind: kind}
	m.perform = m.run
	cmd.Use, cmd.Args, cmd.ValidArgsFunction = kind+" NODE", arguments(1, 1), a.completeMembers
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.noReadMode(); err != nil {
			return err
		}
		c, err := a.client(cmd.Context())
		if err != nil {
			return err
		}
		a.changes = !m.dryRun
		ctx, cancel := a.bounded(cmd)
		defer cancel()
		return m.perform(ctx, c, args[0])
	}
	m.addFlags(cmd)
	return cmd, m
}

func (m *memberChange) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&m.dryRun, "dry-run", false, "say what would be done and what the cluster would survive, and change nothing")
	f.BoolVar(&m.noWait, "no-wait", false, "end as soon as the operation has begun")
	f.StringVar(&m.change.Operation, "operation", "", "id of the operation; one that was begun before is not begun again")
	m.app.timeoutFlag(cmd, "how long to wait for the end of the operation (default: no limit)")
}

// run changes the member that arg names. If the operation was begun before, the member may have left already, or
// another may have come in its place. While the member is there, the cluster compares this request with the operation
// that was begun.
func (m *memberChange) run(ctx context.Context, c *client.Client, arg string) error {
	l, err := c.Members().List(ctx)
	if err != nil {
		return err
	}
	target, missing := memberIn(l, arg)
	o, known := m.begun(l)
	switch {
	case known && (missing != nil && leftBy(o, arg) || missing == nil && target.Node == o.By):
		return m.wait(ctx, c, o)
	case missing != nil:
		return missing
	}
	m.change.Node, m.name = target.Node, target.Name
	if !known {
		if err := m.explain(ctx, c); err != nil || m.dryRun {
			return err
		}
	}
	op, err := m.begin(ctx, c)
	if err != nil {
		return err
	}
	if m.kind == client.ChangeReplace && op.By == 0 && op.State == client.OperationRunning {
		m.noteReplacement(m.app.joinAddress(ctx, c), target.Name)
	}
	return m.wait(ctx, c, op)
}

// noteReplacement tells how to start a node in place of the one of that name, by hand and by the file of a package.
func (m *memberChange) noteReplacement(join, name string) {
	m.app.note("no spare is caught up; start a node in its place, on an empty directory:")
	m.app.note("  %s --peer HOST:PORT --client HOST:PORT --replace %s", m.app.joinCommand(join), shown.Word(name))
	m.app.note("%s", fromPackage)
	m.app.note("  join = %q", join)
	m.app.note("  peer = %q", "HOST:PORT")
	m.app.note("  replace = %q   # remove it once the node is a member", name)
	if m.app.joinsOpenly(join) {
		m.app.note("  insecure = true")
	}
}

// fromPackage introduces the settings of a node that joins and that a package has installed.
const fromPackage = "or, if a package has installed it, with these lines in /etc/kvnode.toml in place of id and " +
	"cluster:"

// begun returns the operation of the id that was given, if it was begun before.
func (m *memberChange) begun(l client.MemberList) (o client.MemberOperation, known bool) {
	if m.change.Operation == "" || m.dryRun {
		return o, false
	}
	i := slices.IndexFunc(l.Operations, func(o client.MemberOperation) bool {
		return o.ID == m.change.Operation && o.Kind == m.kind
	})
	if i < 0 {
		return o, false
	}
	return l.Operations[i], true
}

// leftBy reports whether the member that arg names may be the one that left by o: a name is not known any more.
func leftBy(o client.MemberOperation, arg string) bool {
	id, err := strconv.ParseUint(arg, 10, 64)
	return err != nil || id == o.Node
}

// explain says what will be done. It is the result of a dry run, and otherwise a note.
func (m *memberChange) explain(ctx context.Context, c *client.Client) error {
	p, err := c.Members().Plan(ctx, m.kind, m.change)
	switch {
	case err != nil:
		return m.explained(err)
	case m.dryRun:
		return m.app.print(p, func(w io.Writer) error { return writePlan(w, p) })
	case m.app.json:
		return nil
	}
	return writePlan(shown.Writer(m.app.stderr), p)
}

// writePlan writes what an operation would do.
func writePlan(w io.Writer, p client.MemberPlan) error {
	b := &strings.Builder{}
	for i, s := range p.Steps {
		fmt.Fprintf(b, "%d. %s\n", i+1, s)
	}
	for _, x := range []struct {
		when string
		t    client.Tolerance
	}{{"before", p.Before}, {"meanwhile", p.Meanwhile}, {"after", p.After}} {
		fmt.Fprintf(b, "%-10s %s\n", x.when+":", toleranceText(x.t))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// toleranceText says what voters survive.
func toleranceText(t client.Tolerance) string {
	of := fmt.Sprintf("%s, %d alive: ", output.Plural(uint64(t.Voters), "voter"), t.Alive)
	switch {
	case t.Failures < 0:
		return of + "no majority, so nothing can be written"
	case t.Failures == 0:
		return of + "none of them may fail"
	case t.Failures == 1:
		return of + "any one of them may fail"
	}
	return of + fmt.Sprintf("any %d of them may fail", t.Failures)
}

// begin begins the operation.
func (m *memberChange) begin(ctx context.Context, c *client.Client) (client.MemberOperation, error) {
	ctx, cancel := context.WithTimeout(ctx, m.app.timeout)
	defer cancel()
	f := map[string]func(context.Context, client.MemberChange) (client.MemberOperation, error){
		client.ChangeRemove: c.Members().Remove, client.ChangeReplace: c.Members().Replace,
		client.ChangePromote: c.Members().Promote, client.ChangeUpdate: c.Members().Update,
		client.ChangeReadmit: c.Members().Readmit,
	}[m.kind]
	op, err := f(ctx, m.change)
	return op, m.explained(err)
}

// explained returns err with what an operator can do about it.
func (m *memberChange) explained(err error) error {
	var e *client.Error
	if errors.As(err, &e) && errors.Is(err, client.ErrUnknown) && e.Operation != "" {
		return fmt.Errorf("%w\nit may have begun; to settle it, run the same command again with --operation %s", err,
			e.Operation)
	}
	return err
}

// wait shows how far the operation is until it has ended, and prints what became of it.
func (m *memberChange) wait(ctx context.Context, c *client.Client, op client.MemberOperation) error {
	if m.noWait {
		return m.app.printf(op, "%s\n", "operation "+op.ID+", "+changeText(op)+": "+op.State)
	}
	end, err := m.app.awaitOperation(ctx, c, op)
	if errors.Is(err, client.ErrUnavailable) {
		return fmt.Errorf("%w: %w: %w\nto wait for its end, run the same command again with --operation %s",
			client.ErrUnknown, errGoesOn, err, op.ID)
	}
	if errors.Is(err, client.ErrUnknown) {
		return fmt.Errorf("%w: see kvctl member list, and run the command again if it was not carried out", err)
	}
	if err != nil {
		return err
	}
	return m.app.printf(end, "%s\n", endedText(end))
}

// awaitOperation says what op is and what it waits for, until it has ended.
func (p *printer) awaitOperation(
	ctx context.Context, c *client.Client, op client.MemberOperation,
) (client.MemberOperation, error) {
	if op.State == client.OperationRunning {
		p.note("operation %s, %s", op.ID, changeText(op))
	}
	return c.Members().Wait(ctx, op.ID, (&operationProgress{printer: p}).seen)
}

// progressEvery is the least time between two lines that differ only in how far a copy is.
const progressEvery = 5 * time.Second

// operationProgress writes a line for each step of an operation.
type operationProgress struct {
	*printer
	step, line string
	told       time.Time
}

// seen takes an answer about the operation.
func (p *operationProgress) seen(l client.MemberList, o client.MemberOperation) {
	if o.State != client.OperationRunning {
		return
	}
	step, detail := duration.ReplaceAllLiteralString(o.Step, ""), stepText(o)
	for _, m := range l.Members {
		if m.Snapshot != nil && (m.Node == o.By || m.Node == o.Node && o.By == 0) {
			detail = fmt.Sprintf("node %d %s", m.Node, snapshotText(*m.Snapshot))
		}
	}
	if detail == p.line || step == p.step && time.Since(p.told) < progressEvery {
		return
	}
	p.step, p.line, p.told = step, detail, time.Now()
	p.note("%s", detail)
}

func newMemberRemove(a *app) *cobra.Command {
	cmd, m := newMemberChange(a, client.ChangeRemove, &cobra.Command{
		Short: "Remove a member",
		Long: "Remove a member. A master hands over first. The node says that it was removed and ends; its number is\n" +
			"never used again. This is refused if no majority of the voters that are left is alive, unless\n" +
			"--force-quorum-loss says how many of them are: then nothing can be written until more are back.\n" +
			"While the states of voters differ and no majority tells which is right, one of those is removed only with\n" +
			"--differs, and the others go by what they have. NODE is a number or a name.",
		Example: "  kvctl member remove 3 --dry-run\n  kvctl member remove 3",
	})
	m.perform = m.remove
	cmd.Flags().IntVar(&m.change.ForceQuorumLoss, "force-quorum-loss", 0,
		"remove it though only so many of the voters that are left are alive, which is no majority")
	cmd.Flags().BoolVar(&m.change.Differs, "differs", false,
		"its state is the wrong one of those that differ")
	return cmd
}

// remove is run with a word about the certificate that the node keeps.
func (m *memberChange) remove(ctx context.Context, c *client.Client, arg string) error {
	err := m.run(ctx, c, arg)
	if err != nil || m.dryRun || m.noWait || m.name == "" || !m.app.overTLS() {
		return err
	}
	m.app.note("the certificate of %[1]s is valid until it expires, and nodes refuse that name from now on. If others "+
		"may have its key, revoke it with kvctl ca revoke. To let the node join again: "+
		"kvctl member readmit %[1]s", shown.Word(m.name))
	return nil
}

func newMemberReadmit(a *app) *cobra.Command {
	cmd, m := newMemberChange(a, client.ChangeReadmit, &cobra.Command{
		Short: "Let a node with the name of a removed member join again",
		Long: "Let a node with the certificate of a removed member join again. Without that it is refused under\n" +
			"whatever number it comes. The node then joins with an empty directory, under a new number. NAME is one\n" +
			"of the removed names that kvctl member list shows.",
		Example: "  kvctl member readmit node-3",
	})
	cmd.Use, m.perform = client.ChangeReadmit+" NAME", m.readmit
	cmd.ValidArgsFunction = cobra.NoFileCompletions // the name is no member's any more
	return cmd
}

// readmit makes a name free again.
func (m *memberChange) readmit(ctx context.Context, c *client.Client, name string) error {
	m.change.Name = name
	l, err := c.Members().List(ctx)
	if err != nil {
		return err
	}
	if _, known := m.begun(l); !known {
		if err := m.explain(ctx, c); err != nil || m.dryRun {
			return err
		}
	}
	op, err := m.begin(ctx, c)
	if err != nil {
		return err
	}
	return m.wait(ctx, c, op)
}

func newMemberPromote(a *app) *cobra.Command {
	cmd, _ := newMemberChange(a, client.ChangePromote, &cobra.Command{
		Short: "Make a voter of a non-voter once it is caught up",
		Long: "Make a voter of a non-voter. It becomes one by itself once it is caught up with the log. NODE is a\n" +
			"number or a name.",
	})
	return cmd
}

func newMemberReplace(a *app) *cobra.Command {
	var by string
	cmd, m := newMemberChange(a, client.ChangeReplace, &cobra.Command{
		Short: "Let another node take the place of a member",
		Long: "Let another node take the place of a member: the non-voter of --by, or a spare that is caught up, or\n" +
			"if there is none the next node that joins with kvnode --join --replace NAME or under the same name.\n" +
			"A member that lives is removed when the other one is a voter. One that is dead is removed when the\n" +
			"other one is caught up; never before. NODE is a number or a name.",
		Example: "  kvctl member replace 3                # its disk is lost, and it was started again on an empty one\n" +
			"  kvctl member replace 3 --by spare-1",
	})
	run := cmd.RunE
	cmd.Flags().StringVar(&by, "by", "", "the non-voter that takes the place, by number or name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if by == "" {
			return run(cmd, args)
		}
		return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			x, err := findMember(ctx, c, by)
			if err != nil {
				return fmt.Errorf("--by: %w", err)
			}
			m.change.By = x.Node
			return run(cmd, args)
		})
	}
	return cmd
}

func newMemberUpdate(a *app) *cobra.Command {
	cmd, m := newMemberChange(a, client.ChangeUpdate, &cobra.Command{
		Short: "Change the addresses or the name of a member",
		Long: "Change the addresses or the name under which the others and clients know a member, before it is\n" +
			"started at another address. It does not change where the node listens. NODE is a number or a name.",
		Example: "  kvctl member update 3 --peer-address 10.0.0.9:8300 --client-address 10.0.0.9:8500",
	})
	f := cmd.Flags()
	f.StringVar(&m.change.Name, "name", "", "its new name")
	f.StringVar(&m.change.PeerAddress, "peer-address", "", "HOST:PORT at which the other nodes reach it")
	f.StringVar(&m.change.ClientAddress, "client-address", "", "HOST:PORT at which clients reach it")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("name") && m.change.Name == "" || m.change.Name+m.change.PeerAddress+m.change.ClientAddress == "" {
			return usage("kvctl member update: give --peer-address, --client-address or --name")
		}
		return run(cmd, args)
	}
	return cmd
}
