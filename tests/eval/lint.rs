//! `clawgate eval lint` as a user types it.

use super::project::Project;

#[test]
fn skills_are_found_and_judged() {
    let project = Project::new();
    assert_eq!(project.run(&["lint"]).code, Some(0));
    let said = project.run(&["lint", ".claude/skills/greet"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "pass .claude/skills/greet/SKILL.md\n"));

    project.write(
        ".claude/skills/Bad/SKILL.md",
        "---\nname: Bad\ndescription: x\nallowed-tools: Bash\n---\nDo it.\n",
    );
    let said = project.run(&["lint"]);
    assert_eq!(said.code, Some(100));
    assert!(said.stdout.contains("error name-characters: line 2: `Bad`"), "{}", said.stdout);
    assert!(said.stdout.contains("warning allowed-tools-experimental: line 4"), "{}", said.stdout);

    project
        .write(".claude/skills/Bad/SKILL.md", "---\nname: bad\ndescription: x\nlicence: MIT\n---\nDo it.\n");
    assert_eq!(project.run(&["lint", ".claude/skills/greet", "--strict"]).code, Some(0));
}

#[test]
fn a_warning_fails_only_strictly() {
    let project = Project::new();
    let skill = "---\nname: greet\ndescription: x\nlicence: MIT\n---\nDo it.\n";
    project.write(".claude/skills/greet/SKILL.md", skill);
    assert_eq!(project.run(&["lint"]).code, Some(0));
    let said = project.run(&["lint", "--strict"]);
    assert_eq!(said.code, Some(100));
    assert!(said.stdout.contains("did you mean `license`?"), "{}", said.stdout);
}

#[test]
fn what_cannot_be_read_or_found_says_so() {
    let project = Project::new();
    assert_eq!(project.run(&["lint", "nowhere/SKILL.md"]).code, Some(2));
    std::fs::remove_dir_all(project.path().join(".claude")).unwrap();
    let said = project.run(&["lint"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
}

#[test]
fn a_reference_that_leads_nowhere_is_an_error() {
    let project = Project::new();
    let skill = "---\nname: greet\ndescription: x\n---\nSee [more](references/more.md), then run `python3 scripts/hi.py`.\n";
    project.write(".claude/skills/greet/SKILL.md", skill);
    let said = project.run(&["lint"]);
    assert_eq!(said.code, Some(100), "{}", said.stdout);
    for expected in [
        "error reference-dangling: line 5: `references/more.md` is linked and is not there",
        "error script-dangling: line 5: `scripts/hi.py` is named and is not there",
    ] {
        assert!(said.stdout.contains(expected), "{}", said.stdout);
    }
    project.write(".claude/skills/greet/references/more.md", "More.");
    project.write(".claude/skills/greet/scripts/hi.py", "print('hi')");
    assert_eq!(project.run(&["lint"]).code, Some(0));
}
