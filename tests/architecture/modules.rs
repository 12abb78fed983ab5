//! The modules of a source tree, and which file needs which, read from the code itself.
//!
//! A file needs the file in which a name is *defined*, through whatever re-exports it came. So a
//! parent that declares its children, and passes on what they define, needs none of them; it does
//! if it uses one of these names itself. What only tests see is left out. A local variable that is
//! named as an item in scope counts as that item.
//!
//! Of methods no types are known. One that is defined away from its type is looked for by its name:
//! where that is called on `self` of that type, through the type, or has no other definition.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, File, ImplItem, Item, Meta, Token, UseTree, Visibility};

/// File names below the root, with `/`, and what is in them.
pub type Sources = BTreeMap<String, String>;

/// A file needs another: where it says so first, and what it needs.
pub type Arrows = BTreeMap<(String, String), (usize, String)>;

/// Which file needs which. Panics if a file does not parse, or belongs to no module.
pub fn arrows(sources: &Sources) -> Arrows {
    let mut crate_ = Crate { sources, modules: Vec::new(), tests: BTreeSet::new() };
    crate_.load("lib.rs".into(), None, "");
    let of_modules: BTreeSet<_> = crate_.modules.iter().map(|module| &module.file).collect();
    for file in sources.keys() {
        let test = crate_.tests.iter().any(|folder| in_folder(file, folder));
        assert!(test || of_modules.contains(file), "no module declares {file}");
    }
    crate_.arrows()
}

/// Whether a file is that module, or lies in its folder.
fn in_folder(file: &str, module: &str) -> bool {
    file.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

type Path = Vec<String>;

struct Crate<'a> {
    sources: &'a Sources,
    modules: Vec<Module>,
    /// Modules of tests, by file name without `.rs`.
    tests: BTreeSet<String>,
}

#[derive(Default)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What is defined here.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Every path in the code.
    uses: Vec<(Path, usize)>,
    /// Methods of `impl Type`, by the type.
    methods: Vec<(Path, String)>,
    /// Every function in an `impl` or trait.
    functions: BTreeSet<String>,
    /// `x.method()`, and the type of `x` if it is `self`.
    calls: Vec<(Option<Path>, String, usize)>,
}

struct Import {
    /// None is all of it.
    name: Option<String>,
    path: Path,
    public: bool,
    line: usize,
}

enum Target {
    Item(usize, String),
    Module(usize),
}

impl Crate<'_> {
    fn load(&mut self, file: String, parent: Option<usize>, folder: &str) -> usize {
        let text = self.sources.get(&file).unwrap_or_else(|| panic!("there is no {file}"));
        let File { items, .. } = syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}"));
        self.module(items, file, parent, folder)
    }

    fn module(
        &mut self,
        items: Vec<Item>,
        file: String,
        parent: Option<usize>,
        folder: &str,
    ) -> usize {
        let index = self.modules.len();
        self.modules.push(Module { file: file.clone(), parent, ..Module::default() });
        let mut reader = Reader::default();
        for item in items {
            let Item::Mod(declared) = &item else {
                reader.visit_item(&item);
                continue;
            };
            let name = declared.ident.to_string();
            let path = format!("{folder}{name}");
            if of_tests(&declared.attrs) {
                if declared.content.is_none() {
                    self.tests.insert(path);
                }
                continue;
            }
            let inside = format!("{path}/");
            let child = match &declared.content {
                Some((_, items)) => self.module(items.clone(), file.clone(), Some(index), &inside),
                None => {
                    let own = format!("{path}.rs");
                    let file = if self.sources.contains_key(&own) { own } else { path + "/mod.rs" };
                    self.load(file, Some(index), &inside)
                }
            };
            self.modules[index].children.insert(name, child);
        }
        let module = &mut self.modules[index];
        *module = Module {
            file,
            parent,
            children: std::mem::take(&mut module.children),
            ..reader.module
        };
        index
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        let mut add = |from: &Module, to: usize, line: usize, what: String| {
            let to = &self.modules[to].file;
            if *to != from.file {
                let arrow = arrows.entry((from.file.clone(), to.clone()));
                let first = arrow.or_insert_with(|| (line, what.clone()));
                if line < first.0 {
                    *first = (line, what);
                }
            }
        };
        let away = self.methods_away_from_their_types();
        for (at, module) in self.modules.iter().enumerate() {
            for import in &module.imports {
                if let Some(Target::Item(to, item)) = self.resolve(at, &import.path)
                    && !(import.public && self.is_below(to, at))
                {
                    add(module, to, import.line, item);
                }
            }
            for (path, line) in &module.uses {
                let Some(Target::Item(to, item)) = self.resolve(at, path) else { continue };
                if let Some(method) = path.last()
                    && let Some(&away) = away.get(&(to, item.clone(), method.clone()))
                {
                    add(module, away, *line, format!("{item}::{method}"));
                }
                add(module, to, *line, item);
            }
            for (owner, method, line) in &module.calls {
                let owner = owner.as_ref().and_then(|owner| self.resolve(at, owner));
                let to = match owner {
                    Some(Target::Item(of, item)) => away.get(&(of, item, method.clone())).copied(),
                    _ => {
                        let mut all = self.modules.iter().enumerate();
                        let mut with = all.by_ref().filter(|(_, m)| m.functions.contains(method));
                        let only = with.next().filter(|_| with.next().is_none());
                        let is_away =
                            |to| away.iter().any(|(key, &at)| key.2 == *method && at == to);
                        only.map(|(to, _)| to).filter(|&to| is_away(to))
                    }
                };
                if let Some(to) = to {
                    add(module, to, *line, format!("the method {method}"));
                }
            }
        }
        arrows
    }

    /// The module, by that of the type, the type, and the method.
    fn methods_away_from_their_types(&self) -> BTreeMap<(usize, String, String), usize> {
        let mut away = BTreeMap::new();
        for (at, module) in self.modules.iter().enumerate() {
            for (owner, method) in &module.methods {
                if let Some(Target::Item(of, item)) = self.resolve(at, owner)
                    && self.modules[of].file != module.file
                {
                    away.insert((of, item, method.clone()), at);
                }
            }
        }
        away
    }

    fn is_below(&self, module: usize, above: usize) -> bool {
        let parent = self.modules[module].parent;
        parent.is_some_and(|parent| parent == above || self.is_below(parent, above))
    }

    /// What a path in a module means; None if it is no name of this crate.
    fn resolve(&self, at: usize, path: &[String]) -> Option<Target> {
        self.resolve_once(at, path, true, &mut HashSet::new())
    }

    fn resolve_once(
        &self,
        at: usize,
        path: &[String],
        begins: bool,
        seen: &mut HashSet<(usize, Path)>,
    ) -> Option<Target> {
        let Some((name, rest)) = path.split_first() else { return Some(Target::Module(at)) };
        let elsewhere = match name.as_str() {
            "crate" if begins => Some(0),
            "self" if begins => Some(at),
            "super" => self.modules[at].parent,
            _ => None,
        };
        if let Some(module) = elsewhere {
            return self.resolve_once(module, rest, false, seen);
        }
        if !seen.insert((at, path.to_vec())) {
            return None;
        }
        let module = &self.modules[at];
        if let Some(&child) = module.children.get(name)
            && !rest.is_empty()
        {
            return self.resolve_once(child, rest, false, seen);
        }
        if module.items.contains(name) {
            return Some(Target::Item(at, name.clone()));
        }
        for import in module.imports.iter().filter(|import| import.name.as_ref() == Some(name)) {
            let whole = [&import.path, rest].concat();
            if let Some(target) = self.resolve_once(at, &whole, true, seen) {
                return Some(target);
            }
        }
        if let Some(&child) = module.children.get(name) {
            return Some(Target::Module(child));
        }
        for import in module.imports.iter().filter(|import| import.name.is_none()) {
            if let Some(Target::Module(of)) = self.resolve_once(at, &import.path, true, seen)
                && let Some(target) = self.resolve_once(of, path, false, seen)
            {
                return Some(target);
            }
        }
        None
    }
}

/// Reads the items of a module; a function's own items and imports count as the module's.
#[derive(Default)]
struct Reader {
    module: Module,
    /// The type whose `impl` is being read.
    owner: Option<Path>,
}

fn of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if attribute.path().is_ident("cfg") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(|one| one.path().is_ident("test"))),
        _ => false,
    })
}

fn words(path: &syn::Path) -> Path {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

impl Reader {
    fn import(&mut self, tree: &UseTree, mut path: Path, public: bool) {
        let line = tree.span().start().line;
        let (name, last) = match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.import(&inner.tree, path, public);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path.clone(), public);
                }
                return;
            }
            UseTree::Name(name) if name.ident == "self" => (path.last().cloned(), None),
            UseTree::Name(name) => (Some(name.ident.to_string()), Some(&name.ident)),
            UseTree::Rename(renamed) => (Some(renamed.rename.to_string()), Some(&renamed.ident)),
            UseTree::Glob(_) => (None, None),
        };
        path.extend(last.map(|last| last.to_string()));
        self.module.imports.push(Import { name, path, public, line });
    }

    /// What a macro is given is taken for code: names with `::` between them, calls after a dot.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let mut path = vec![ident.to_string()];
                    let first = at;
                    while is(at + 1, ':')
                        && is(at + 2, ':')
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if first > 0 && is(first - 1, '.') && !(first > 1 && is(first - 2, '.')) {
                        self.module.calls.push((None, path.remove(0), line));
                    } else {
                        self.module.uses.push((path, line));
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, Some(&item.ident)),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if of_tests(attributes) {
            return;
        }
        self.module.items.extend(name.map(|name| name.to_string()));
        let outer = self.owner.take();
        match item {
            Item::Use(item) if item.leading_colon.is_none() => {
                let public = !matches!(item.vis, Visibility::Inherited);
                self.import(&item.tree, Path::new(), public);
            }
            Item::Use(_) => {}
            Item::Impl(item) => {
                if let syn::Type::Path(of) = &*item.self_ty {
                    self.owner = Some(words(&of.path));
                }
                for function in &item.items {
                    if let ImplItem::Fn(function) = function
                        && !of_tests(&function.attrs)
                    {
                        let name = function.sig.ident.to_string();
                        if item.trait_.is_none() {
                            let owner = self.owner.clone().unwrap_or_default();
                            self.module.methods.push((owner, name.clone()));
                        }
                        self.module.functions.insert(name);
                    }
                }
                visit::visit_item_impl(self, item);
            }
            Item::Trait(item) => {
                for function in &item.items {
                    if let syn::TraitItem::Fn(function) = function {
                        self.module.functions.insert(function.sig.ident.to_string());
                    }
                }
                visit::visit_item_trait(self, item);
            }
            _ => visit::visit_item(self, item),
        }
        self.owner = outer;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !of_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let mut words = words(path);
            if words[0] == "Self"
                && let Some(owner) = &self.owner
            {
                words.splice(..1, owner.iter().cloned());
            }
            self.module.uses.push((words, path.span().start().line));
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_self = matches!(&*call.receiver, syn::Expr::Path(of) if of.path.is_ident("self"));
        let owner = self.owner.clone().filter(|_| is_self);
        let line = call.method.span().start().line;
        self.module.calls.push((owner, call.method.to_string(), line));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        self.tokens(called.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
