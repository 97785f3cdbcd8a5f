// Answers of GitHub's schema from a JSON dataset (its shape is described in dataset.py).
// Everything here is a view: nothing is kept between two requests except the dataset itself and the order of its items.
import { GraphQLError } from "graphql";

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const opaque = (...parts) => encode(parts);

function decode(text, what) {
  try {
    const value = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (Array.isArray(value)) return value;
  } catch {
    // falls through: not one of ours
  }
  throw githubError("INVALID_CURSOR_ARGUMENTS", `\`${text}\` does not appear to be a valid ${what}.`);
}

export function githubError(type, message) {
  return new GraphQLError(message, { extensions: { githubType: type } });
}

function compare(a, b) {
  for (let i = 0; i < a.length; i += 1) {
    if (a[i] < b[i]) return -1;
    if (a[i] > b[i]) return 1;
  }
  return 0;
}

// The first place from which on a test holds, by halving; the length where it holds nowhere.
function firstAt(entries, test) {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(entries[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

// A connection over entries [key, make] whose order is by key. The cursor holds the key and not the offset, so an
// item that moves while a client pages neither hides nor repeats its neighbours, as on GitHub.
function connection(entries, args, { descending = false, sorted = false } = {}) {
  const sign = descending ? -1 : 1;
  const ordered = sorted ? entries : [...entries].sort((a, b) => sign * compare(a[0], b[0]));
  let start = 0;
  let end = ordered.length;
  if (args.after) {
    const key = decode(args.after, "cursor");
    start = firstAt(ordered, (entry) => sign * compare(entry[0], key) > 0);
  }
  if (args.before) {
    const key = decode(args.before, "cursor");
    end = Math.max(start, firstAt(ordered, (entry) => sign * compare(entry[0], key) >= 0));
  }
  const from = args.last !== undefined && args.last !== null ? Math.max(start, end - args.last) : start;
  const to = args.first !== undefined && args.first !== null ? Math.min(end, from + args.first) : end;
  const page = ordered.slice(from, to);
  return {
    totalCount: ordered.length,
    filteredCount: ordered.length,
    pageCount: page.length,
    nodes: () => page.map(([, make]) => make()),
    edges: () => page.map(([key, make]) => ({ cursor: encode(key), node: make() })),
    pageInfo: {
      hasNextPage: to < ordered.length && to < end,
      hasPreviousPage: from > 0,
      startCursor: page.length ? encode(page[0][0]) : null,
      endCursor: page.length ? encode(page[page.length - 1][0]) : null,
    },
  };
}

const listed = (values, make) => values.map((value, index) => [[index], () => make(value, index)]);
// As on GitHub: REST appends [bot] to the login of an app, GraphQL does not.
function actor(login) {
  if (!login) return null;
  const bot = login.endsWith("[bot]");
  return { __typename: bot ? "Bot" : "User", id: opaque("U", login), login: bot ? login.slice(0, -5) : login, databaseId: accountId(login) };
}
// GitHub gives a group for every kind, also where nobody used it.
const KINDS = ["THUMBS_UP", "THUMBS_DOWN", "LAUGH", "HOORAY", "CONFUSED", "HEART", "ROCKET", "EYES"];
const groups = (counts) => KINDS.map((content) => ({ content, reactors: { totalCount: counts?.[content] ?? 0 } }));
const counted = (counts) => Object.entries(counts).filter(([, count]) => count > 0).map(([state, count]) => ({ state, count }));
const reviewer = (name) => (name.includes("/") ? { __typename: "Team", id: opaque("T", name), combinedSlug: name } : actor(name));
const accountId = (login) => [...login].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 100_000_007, 7);
// Ids beyond 32 bits do not fit the schema's Int; only fullDatabaseId carries them.
const databaseIds = (id) => ({ databaseId: id < 2 ** 31 ? id : null, fullDatabaseId: String(id) });
const screaming = (name) => name.replace(/(?<!^)([A-Z])/g, "_$1").toUpperCase();

export class World {
  constructor(dataset) {
    this.repos = new Map();
    this.renamed = new Map(Object.entries(dataset.renamed ?? {}));
    this.orders = new Map();
    for (const repo of dataset.repos) this.repos.set(repo.nameWithOwner, { ...repo, items: new Map(), gone: new Map() });
    this.inOrder = [...this.repos.values()];
  }

  // An item of the repository at this place of the dataset.
  add(place, item) {
    this.inOrder[place].items.set(item.number, item);
  }

  // The items are to be put in order anew.
  changed() {
    this.orders.clear();
  }

  find(name) {
    return this.repos.get(name) ?? this.repos.get(this.renamed.get(name));
  }

  repository(repo) {
    const [owner, name] = repo.nameWithOwner.split("/");
    const one = (number, kinds) => {
      const item = repo.items.get(number);
      if (item !== undefined && kinds.includes(item.kind)) return this.item(repo, item);
      const what = kinds.length > 1 ? "an issue or pull request" : kinds[0] === "issue" ? "an Issue" : "a PullRequest";
      throw githubError("NOT_FOUND", `Could not resolve to ${what} with the number of ${number}.`);
    };
    return {
      __typename: "Repository",
      id: opaque("R", repo.databaseId),
      databaseId: repo.databaseId,
      name,
      owner: { __typename: "Organization", login: owner },
      nameWithOwner: repo.nameWithOwner,
      url: `https://github.com/${repo.nameWithOwner}`,
      hasIssuesEnabled: true,
      isArchived: false,
      isPrivate: false,
      issue: ({ number }) => one(number, ["issue"]),
      pullRequest: ({ number }) => one(number, ["pull"]),
      issueOrPullRequest: ({ number }) => one(number, ["issue", "pull"]),
      issues: (args) => this.items(repo, "issue", args),
      pullRequests: (args) => this.items(repo, "pull", args),
    };
  }

  items(repo, kind, args) {
    const filter = args.filterBy ?? {};
    const states = filter.states ?? args.states;
    const labels = filter.labels ?? args.labels;
    const since = filter.since ? new Date(filter.since).toISOString().replace(".000Z", "Z") : "";
    const descending = args.orderBy?.direction === "DESC";
    const by = args.orderBy?.field ?? "CREATED_AT";
    let entries = this.ordered(repo, kind, by, descending);
    if (since && by === "UPDATED_AT" && !descending) entries = entries.slice(firstAt(entries, (entry) => entry[2].updatedAt >= since));
    else if (since) entries = entries.filter(([, , item]) => item.updatedAt >= since);
    if (states?.length) entries = entries.filter(([, , item]) => states.includes(item.state));
    if (labels?.length) entries = entries.filter(([, , item]) => labels.some((label) => item.labels.includes(label)));
    return connection(entries, args, { descending, sorted: true });
  }

  // Entries [key, make, item] of all items of a kind; kept until an item changes.
  ordered(repo, kind, by, descending) {
    const name = `${repo.databaseId} ${kind} ${by} ${descending}`;
    let entries = this.orders.get(name);
    if (entries === undefined) {
      const field = { CREATED_AT: "createdAt", UPDATED_AT: "updatedAt" }[by];
      const key = (item) => (field ? [item[field], item.number] : [item.comments.length, item.number]);
      const sign = descending ? -1 : 1;
      entries = [...repo.items.values()].filter((item) => item.kind === kind).map((item) => [key(item), () => this.item(repo, item), item]);
      entries.sort((a, b) => sign * compare(a[0], b[0]));
      this.orders.set(name, entries);
    }
    return entries;
  }

  item(repo, item) {
    const shared = this.shared(repo, item);
    return item.kind === "issue" ? { ...shared, ...this.issue(repo, item) } : { ...shared, ...this.pull(repo, item) };
  }

  shared(repo, item) {
    const path = `${repo.nameWithOwner}/${item.kind === "issue" ? "issues" : "pull"}/${item.number}`;
    return {
      id: opaque(item.kind === "issue" ? "I" : "PR", repo.databaseId, item.number),
      ...databaseIds(item.databaseId),
      number: item.number,
      title: item.title,
      body: item.body,
      bodyText: item.body,
      state: item.state,
      closed: item.state !== "OPEN",
      createdAt: item.createdAt,
      updatedAt: item.updatedAt,
      closedAt: item.closedAt,
      author: actor(item.author),
      authorAssociation: item.authorAssociation,
      locked: item.locked,
      activeLockReason: item.lockReason,
      url: `https://github.com/${path}`,
      resourcePath: `/${path}`,
      repository: () => this.repository(repo),
      milestone: item.milestone ? { title: item.milestone, ...item.milestoneFacts } : null,
      labels: (args) => connection(listed(item.labels, (name) => this.label(repo, name)), args),
      reactionGroups: groups(item.reactionCounts),
      assignees: (args) => connection(listed(item.assignees, actor), args),
      reactions: (args) => connection(listed(Array(item.reactions).fill("THUMBS_UP"), (content) => ({ content })), args),
      comments: (args) => connection(this.comments(repo, item), args),
      timelineItems: (args) => this.timeline(repo, item, args),
    };
  }

  issue(repo, item) {
    return {
      __typename: "Issue",
      // Without enableDuplicate GitHub keeps the older vocabulary.
      stateReason: ({ enableDuplicate }) =>
        item.stateReason === "DUPLICATE" && !enableDuplicate ? "NOT_PLANNED" : item.stateReason,
      issueType: item.issueType ? { name: item.issueType } : null,
      parent: () => (repo.items.has(item.parent) ? this.item(repo, repo.items.get(item.parent)) : null),
      subIssues: (args) =>
        connection(listed(item.subIssues.filter((n) => repo.items.has(n)), (n) => this.item(repo, repo.items.get(n))), args),
      closedByPullRequestsReferences: (args) => {
        const pulls = item.closedBy.map((number) => repo.items.get(number)).filter((found) => found?.kind === "pull");
        const shown = args.includeClosedPrs ? pulls : pulls.filter((pull) => pull.state !== "CLOSED");
        return connection(listed(shown, (pull) => this.item(repo, pull)), args);
      },
    };
  }

  pull(repo, item) {
    const closed = () => item.closes.map((number) => repo.items.get(number)).filter((found) => found?.kind === "issue");
    return {
      __typename: "PullRequest",
      isDraft: item.isDraft,
      merged: item.state === "MERGED",
      mergedAt: item.mergedAt,
      mergeCommit: item.mergeSha ? this.commit(item.mergeSha) : null,
      mergedBy: actor(item.mergedBy),
      baseRefName: item.baseRefName,
      headRefName: item.headRefName,
      headRefOid: item.headSha,
      statusCheckRollup: item.checks ? this.rollup(item) : null,
      changedFiles: item.files.length,
      additions: item.files.reduce((sum, file) => sum + file.additions, 0),
      deletions: item.files.reduce((sum, file) => sum + file.deletions, 0),
      reviewRequests: (args) => connection(listed(item.reviewers, (name) => ({ requestedReviewer: reviewer(name) })), args),
      files: (args) => connection(listed(item.files, (file) => file), args),
      closingIssuesReferences: (args) => connection(listed(closed(), (issue) => this.item(repo, issue)), args),
    };
  }

  rollup(item) {
    const { state, runs, contexts } = item.checks;
    const counts = { checkRunCountsByState: counted(runs), statusContextCountsByState: counted(contexts) };
    return { __typename: "StatusCheckRollup", id: opaque("SCR", item.headSha), state, contexts: counts };
  }

  label(repo, name) {
    return { id: opaque("LA", repo.databaseId, name), name, color: "ededed", description: null };
  }

  commit(oid) {
    return { __typename: "Commit", id: opaque("C", oid), oid, abbreviatedOid: oid.slice(0, 9), url: `https://github.com/commit/${oid}` };
  }

  comments(repo, item) {
    return item.comments.map((comment) => [[comment.createdAt, comment.databaseId], () => this.comment(repo, item, comment)]);
  }

  comment(repo, item, comment) {
    return {
      __typename: "IssueComment",
      id: opaque("IC", repo.databaseId, item.number, comment.databaseId),
      ...comment,
      ...databaseIds(comment.databaseId),
      author: actor(comment.author),
      bodyText: comment.body,
      reactionGroups: groups(comment.reactionCounts),
    };
  }

  review(repo, item, review) {
    return {
      __typename: "PullRequestReview",
      id: opaque("PRR", repo.databaseId, item.number, review.databaseId),
      ...review,
      ...databaseIds(review.databaseId),
      author: actor(review.author),
      bodyText: review.body,
      createdAt: review.submittedAt,
      commit: this.commit(review.commit),
      pullRequest: () => this.item(repo, item),
      reactionGroups: groups(review.reactionCounts),
      comments: (args) => connection(listed(review.comments, (comment) => this.reviewComment(repo, item, review, comment)), args),
    };
  }

  reviewComment(repo, item, review, comment) {
    const answered = review.comments.find((one) => one.databaseId === comment.replyTo);
    return {
      __typename: "PullRequestReviewComment",
      id: opaque("PRRC", repo.databaseId, item.number, comment.databaseId),
      ...comment,
      ...databaseIds(comment.databaseId),
      author: actor(comment.author),
      originalCommit: this.commit(comment.originalCommit),
      replyTo: () => (answered ? this.reviewComment(repo, item, review, answered) : null),
      reactionGroups: groups(comment.reactionCounts),
    };
  }

  pullCommit(item, commit) {
    const author = { name: commit.name, user: actor(commit.login), date: commit.date };
    const made = { ...this.commit(commit.oid), message: commit.message, authoredDate: commit.date, committedDate: commit.date, author };
    return { __typename: "PullRequestCommit", id: opaque("PURC", item.number, commit.oid), commit: made };
  }

  timeline(repo, item, args) {
    const entries = item.events.map((event, index) => [
      [event.createdAt, index],
      () => this.event(repo, item, event, index),
      event.type,
    ]);
    for (const [[createdAt], make] of this.comments(repo, item)) {
      entries.push([[createdAt, entries.length], make, "IssueComment"]);
    }
    for (const review of item.reviews ?? []) {
      entries.push([[review.submittedAt, entries.length], () => this.review(repo, item, review), "PullRequestReview"]);
    }
    for (const commit of item.commits ?? []) {
      entries.push([[commit.date, entries.length], () => this.pullCommit(item, commit), "PullRequestCommit"]);
    }
    const wanted = entries.filter(
      ([[createdAt], , type]) =>
        (!args.itemTypes?.length || args.itemTypes.includes(screaming(type))) &&
        (!args.since || Date.parse(createdAt) >= Date.parse(args.since)),
    );
    return { ...connection(wanted, args), updatedAt: item.updatedAt };
  }

  event(repo, item, event, index) {
    const self = () => this.item(repo, item);
    const made = {
      __typename: event.type,
      id: opaque("EV", repo.databaseId, item.number, index),
      createdAt: event.createdAt,
      actor: actor(event.actor),
    };
    const parts = {
      LabeledEvent: () => ({ label: this.label(repo, event.label), labelable: self }),
      UnlabeledEvent: () => ({ label: this.label(repo, event.label), labelable: self }),
      ClosedEvent: () => ({ stateReason: event.stateReason, closable: self, closer: () => this.closer(event.closer) }),
      ReopenedEvent: () => ({ stateReason: event.stateReason, closable: self }),
      RenamedTitleEvent: () => ({ previousTitle: event.previousTitle, currentTitle: event.currentTitle, subject: self }),
      TransferredEvent: () => ({ fromRepository: () => this.foreign(event.fromRepository), issue: self }),
      MarkedAsDuplicateEvent: () => this.duplicate(repo, event),
      UnmarkedAsDuplicateEvent: () => this.duplicate(repo, event),
      CrossReferencedEvent: () => ({
        source: () => this.subject(event.source),
        target: self,
        willCloseTarget: event.willCloseTarget,
        isCrossRepository: event.source.repo !== repo.nameWithOwner,
        referencedAt: event.createdAt,
      }),
      ReferencedEvent: () => ({
        commit: event.commit ? this.commit(event.commit) : null,
        commitRepository: () => this.repository(repo),
        subject: self,
        isCrossRepository: false,
        isDirectReference: true,
      }),
      ConnectedEvent: () => ({
        source: self,
        subject: () => this.subject(event.subject),
        isCrossRepository: event.subject.repo !== repo.nameWithOwner,
      }),
      MergedEvent: () => ({ commit: event.commit ? this.commit(event.commit) : null, mergeRefName: "main", pullRequest: self }),
    };
    return { ...made, ...(parts[event.type]?.() ?? {}) };
  }

  duplicate(repo, event) {
    return {
      canonical: () => this.subject(event.canonical),
      duplicate: () => this.subject(event.duplicate),
      isCrossRepository: [event.canonical, event.duplicate].some((item) => item && item.repo !== repo.nameWithOwner),
    };
  }

  closer(closer) {
    if (!closer) return null;
    return closer.commit ? this.commit(closer.commit) : this.subject(closer);
  }

  // An item of this dataset, or the little that is known of one elsewhere.
  subject(place) {
    if (!place) return null;
    const repo = this.find(place.repo);
    const item = repo?.items.get(place.number);
    if (item) return this.item(repo, item);
    const kind = place.kind === "pull" ? "pull" : "issue";
    const foreign = repo ?? { nameWithOwner: place.repo, databaseId: 0, items: new Map() };
    const moment = "2020-01-01T00:00:00Z";
    return this.item(foreign, {
      kind,
      number: place.number,
      databaseId: place.number,
      title: "",
      body: "",
      state: "OPEN",
      stateReason: null,
      createdAt: moment,
      updatedAt: moment,
      closedAt: null,
      author: null,
      authorAssociation: "NONE",
      labels: [],
      comments: [],
      events: [],
      reactions: 0,
      closedBy: [],
      closes: [],
      files: [],
      isDraft: false,
      baseRefName: "main",
      headRefName: "topic",
      headSha: "0".repeat(40),
      locked: false,
      lockReason: null,
      mergedBy: null,
      checks: null,
      reactionCounts: {},
      assignees: [],
      reviewers: [],
      reviews: [],
      commits: [],
      parent: null,
      subIssues: [],
    });
  }

  foreign(name) {
    return name ? this.repository(this.find(name) ?? { nameWithOwner: name, databaseId: 0, items: new Map() }) : null;
  }

  node(id) {
    const [kind, ...key] = decode(id, "node id");
    const repo = [...this.repos.values()].find((one) => one.databaseId === key[0]);
    if (kind === "R" && repo) return this.repository(repo);
    const item = repo?.items.get(key[1]);
    if (["I", "PR"].includes(kind) && item) return this.item(repo, item);
    const comment = kind === "IC" ? item?.comments.find((one) => one.databaseId === key[2]) : undefined;
    if (comment) return this.comment(repo, item, comment);
    const review = kind === "PRR" ? item?.reviews.find((one) => one.databaseId === key[2]) : undefined;
    if (review) return this.review(repo, item, review);
    throw githubError("NOT_FOUND", `Could not resolve to a node with the global id of '${id}'`);
  }
}

export function rootValue(world, quota) {
  const guarded = (id) => {
    try {
      return world.node(id);
    } catch (error) {
      return error;
    }
  };
  return {
    viewer: { __typename: "User", login: "miner" },
    rateLimit: () => quota,
    repository: ({ owner, name, followRenames }) => {
      const full = `${owner}/${name}`;
      const repo = followRenames === false ? world.repos.get(full) : world.find(full);
      if (repo) return world.repository(repo);
      throw githubError("NOT_FOUND", `Could not resolve to a Repository with the name '${full}'.`);
    },
    node: ({ id }) => world.node(id),
    nodes: ({ ids }) => ids.map(guarded),
  };
}
